//! Walks over a query's syntax with visitors that are trait objects.
//!
//! sqlparser's walk is generic: the compiler writes its several hundred functions anew for each
//! type of visitor, which were more than half of what it had to compile of `limn-ask`. Here one
//! type of visitor hands on to whichever is meant, so that there is one walk that looks and one
//! that changes.

use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// Walks a part of a query with a visitor; gives what the visitor ended it with.
pub fn walk<B>(part: &impl Visit, visitor: &mut dyn Visitor<Break = B>) -> ControlFlow<B> {
    let with = None;
    let mut ended = Ended { visitor, with };
    let one: &mut dyn Visitor<Break = ()> = &mut ended;
    let _ = part.visit(&mut Any(one));
    ended.flow()
}

/// As [`walk()`], with one that changes what it comes by.
pub fn walk_mut<B>(
    part: &mut impl VisitMut,
    visitor: &mut dyn VisitorMut<Break = B>,
) -> ControlFlow<B> {
    let with = None;
    let mut ended = Ended { visitor, with };
    let one: &mut dyn VisitorMut<Break = ()> = &mut ended;
    let _ = part.visit(&mut Any(one));
    ended.flow()
}

/// Looks at all expressions of a part of a query, each before those in it.
pub fn each_expr<B>(
    part: &impl Visit,
    mut look: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(part, &mut Exprs(&mut look))
}

/// Changes the expressions of a part of a query, each after those in it.
pub fn each_expr_mut<B>(
    part: &mut impl VisitMut,
    mut change: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk_mut(part, &mut ExprsMut(&mut change))
}

/// Looks at what a query names as tables.
pub fn each_relation<B>(
    part: &impl Visit,
    mut look: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk(part, &mut Relations(&mut look))
}

/// Changes what a query names as tables.
pub fn each_relation_mut<B>(
    part: &mut impl VisitMut,
    mut change: impl FnMut(&mut ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    walk_mut(part, &mut RelationsMut(&mut change))
}

/// The one type of visitor that syntax is walked with.
struct Any<T>(T);

/// Keeps what a visitor ended its walk with.
struct Ended<V, B> {
    visitor: V,
    with: Option<B>,
}

impl<V, B> Ended<V, B> {
    fn flow(self) -> ControlFlow<B> {
        match self.with {
            Some(with) => ControlFlow::Break(with),
            None => ControlFlow::Continue(()),
        }
    }

    fn take(&mut self, flow: ControlFlow<B>) -> ControlFlow<()> {
        match flow {
            ControlFlow::Continue(()) => ControlFlow::Continue(()),
            ControlFlow::Break(with) => {
                self.with = Some(with);
                ControlFlow::Break(())
            }
        }
    }
}

macro_rules! hand_on {
    ($($hook:ident: $part:ty),+ $(,)?) => {
        impl Visitor for Any<&mut dyn Visitor<Break = ()>> {
            type Break = ();
            $(fn $hook(&mut self, part: &$part) -> ControlFlow<()> {
                self.0.$hook(part)
            })+
        }

        impl VisitorMut for Any<&mut dyn VisitorMut<Break = ()>> {
            type Break = ();
            $(fn $hook(&mut self, part: &mut $part) -> ControlFlow<()> {
                self.0.$hook(part)
            })+
        }

        impl<B> Visitor for Ended<&mut dyn Visitor<Break = B>, B> {
            type Break = ();
            $(fn $hook(&mut self, part: &$part) -> ControlFlow<()> {
                let flow = self.visitor.$hook(part);
                self.take(flow)
            })+
        }

        impl<B> VisitorMut for Ended<&mut dyn VisitorMut<Break = B>, B> {
            type Break = ();
            $(fn $hook(&mut self, part: &mut $part) -> ControlFlow<()> {
                let flow = self.visitor.$hook(part);
                self.take(flow)
            })+
        }
    };
}

hand_on! {
    pre_visit_query: Query,
    post_visit_query: Query,
    pre_visit_select: Select,
    post_visit_select: Select,
    pre_visit_relation: ObjectName,
    post_visit_relation: ObjectName,
    pre_visit_table_factor: TableFactor,
    post_visit_table_factor: TableFactor,
    pre_visit_expr: Expr,
    post_visit_expr: Expr,
    pre_visit_statement: Statement,
    post_visit_statement: Statement,
    pre_visit_value: ValueWithSpan,
    post_visit_value: ValueWithSpan,
}

struct Exprs<'f, B>(&'f mut dyn FnMut(&Expr) -> ControlFlow<B>);

impl<B> Visitor for Exprs<'_, B> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct ExprsMut<'f, B>(&'f mut dyn FnMut(&mut Expr) -> ControlFlow<B>);

impl<B> VisitorMut for ExprsMut<'_, B> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct Relations<'f, B>(&'f mut dyn FnMut(&ObjectName) -> ControlFlow<B>);

impl<B> Visitor for Relations<'_, B> {
    type Break = B;

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<B> {
        (self.0)(relation)
    }
}

struct RelationsMut<'f, B>(&'f mut dyn FnMut(&mut ObjectName) -> ControlFlow<B>);

impl<B> VisitorMut for RelationsMut<'_, B> {
    type Break = B;

    fn post_visit_relation(&mut self, relation: &mut ObjectName) -> ControlFlow<B> {
        (self.0)(relation)
    }
}
