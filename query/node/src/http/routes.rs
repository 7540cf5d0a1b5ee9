//! The addresses, and the description of them that programs read.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Json, Router};
use limn_ask::AskAnswer;
use limn_cells::CellsAnswer;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{Modify, OpenApi};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::body::{Asked, ObjectBody, read_events};
use super::guard::{Guard, Held, Hosts, guard};
use super::nearby::nearby;
use super::reply::ErrorAnswer;
use super::{messages, page, steps};
use crate::access::{Caller, Right};
use crate::answers;
use crate::answers::{
    AskRequest, CellsRequest, Described, Description as TableDescription, Diff, DiffRequest,
    Examples, Feedback, Form, Grant, History, HistoryRequest, JoinsAnswer, JoinsRequest,
    ListRequest, Listing, RowsRequest, SearchAnswer, SearchRequest, SimilarAnswer, SimilarRequest,
    Snapshots, SqlAnswer, SqlRequest, Status, Suggest, Suggestions, TableDetail, TableRequest,
    Tree, TreeRequest,
};
use crate::node::Node;
use crate::problem::{Code, Problem};

/// Bytes of an answer from which on it is compressed for clients that can read that.
const COMPRESSED: u16 = 1_024;

type Shared = State<Arc<Node>>;
type Answer<T> = Result<Json<T>, Problem>;

#[derive(OpenApi)]
#[openapi(
    info(
        title = "limn",
        description = "Finds the right table in a data lake when somebody asks in plain words. Every answer is made of the tables that the key may see, as if there were no others.",
        license(name = "Apache-2.0", identifier = "Apache-2.0")
    ),
    tags(
        (name = "search", description = "From a question to tables"),
        (name = "tables", description = "What the lake holds"),
        (name = "changes", description = "What became of it"),
        (name = "node", description = "How the node is")
    ),
    components(schemas(ErrorAnswer)),
    modifiers(&Keys),
    security(("key" = []))
)]
struct Description;

/// What every address may answer instead.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "described, and made from problems in reply.rs")]
enum Failures {
    /// The request is refused.
    #[response(status = "4XX")]
    Refused(ErrorAnswer),
    /// It cannot be answered now.
    #[response(status = 503)]
    Unable(ErrorAnswer),
}

struct Keys;

impl Modify for Keys {
    fn modify(&self, openapi: &mut utoipa::openapi::OpenApi) {
        let scheme = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
        let components = openapi.components.get_or_insert_default();
        components.add_security_scheme("key", SecurityScheme::Http(scheme));
    }
}

impl FromRequestParts<Arc<Node>> for Grant {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, node: &Arc<Node>) -> Result<Grant, Problem> {
        // The guard has put it there, or no handler is reached.
        let caller = parts.extensions.get::<Caller>().cloned();
        node.grant(caller.ok_or_else(Problem::internal)?).await
    }
}

/// Finds the tables that answer a question.
#[utoipa::path(get, path = "/v1/search", tag = "search", params(SearchRequest), responses((status = 200, body = SearchAnswer), Failures))]
async fn search(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<SearchRequest>,
) -> Answer<SearchAnswer> {
    answers::search(&node, &grant, asked).await.map(Json)
}

/// Finds the tables that answer a question, given in a body.
#[utoipa::path(post, path = "/v1/search", tag = "search", request_body = SearchRequest, responses((status = 200, body = SearchAnswer), Failures))]
async fn search_by_body(
    State(node): Shared,
    grant: Grant,
    ObjectBody(asked): ObjectBody<SearchRequest>,
) -> Answer<SearchAnswer> {
    answers::search(&node, &grant, asked).await.map(Json)
}

/// Suggests names while somebody types.
#[utoipa::path(get, path = "/v1/suggest", tag = "search", params(Suggest), responses((status = 200, body = Suggestions), Failures))]
async fn suggest(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<Suggest>,
) -> Answer<Suggestions> {
    node.compute(move || answers::suggest(&grant, &asked))
        .await?
        .map(Json)
}

/// Keeps somebody's feedback on a result.
#[utoipa::path(post, path = "/v1/feedback", tag = "search", request_body = Feedback, responses((status = 204), Failures))]
async fn feedback(
    State(node): Shared,
    grant: Grant,
    ObjectBody(said): ObjectBody<Feedback>,
) -> Result<StatusCode, Problem> {
    answers::keep(&node, &grant, &said).map(|()| StatusCode::NO_CONTENT)
}

/// What is known of a table.
#[utoipa::path(get, path = "/v1/table", tag = "tables", params(TableRequest), responses((status = 200, body = TableDetail), Failures))]
async fn table(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<TableRequest>,
) -> Answer<TableDetail> {
    answers::describe(&node, &grant, &asked).await.map(Json)
}

/// Finds tables that are like one.
#[utoipa::path(get, path = "/v1/table/similar", tag = "tables", params(SimilarRequest), responses((status = 200, body = SimilarAnswer), Failures))]
async fn similar(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<SimilarRequest>,
) -> Answer<SimilarAnswer> {
    answers::similar(&node, &grant, &asked).await.map(Json)
}

/// What a table joins with, its copies, parts and unions, the surest first; or the way of joins to
/// another table.
#[utoipa::path(get, path = "/v1/joins", tag = "tables", params(JoinsRequest), responses((status = 200, body = JoinsAnswer), Failures))]
async fn joins(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<JoinsRequest>,
) -> Answer<JoinsAnswer> {
    answers::joins(&node, &grant, &asked).await.map(Json)
}

/// Reads rows of a table from the lake, as JSON, or as a stream of Arrow where that is accepted.
/// Needs the right `rows`.
#[utoipa::path(get, path = "/v1/table/rows", tag = "tables", params(RowsRequest), responses((status = 200, content((SqlAnswer = "application/json"), (String = "application/vnd.apache.arrow.stream"))), Failures))]
async fn rows(
    State(node): Shared,
    grant: Grant,
    headers: HeaderMap,
    Asked(asked): Asked<RowsRequest>,
) -> Result<Response, Problem> {
    let running = answers::rows(&node, &grant, &asked).await?;
    Ok(written(running, &headers))
}

/// Answers a statement of SQL that reads, over the tables that the caller may see; as JSON, or as a
/// stream of Arrow where that is accepted. Needs the right `rows`.
#[utoipa::path(post, path = "/v1/sql", tag = "tables", request_body = SqlRequest, responses((status = 200, content((SqlAnswer = "application/json"), (String = "application/vnd.apache.arrow.stream"))), Failures))]
async fn sql(
    State(node): Shared,
    grant: Grant,
    headers: HeaderMap,
    ObjectBody(asked): ObjectBody<SqlRequest>,
) -> Result<Response, Problem> {
    let running = answers::sql(&node, &grant, &asked).await?;
    Ok(written(running, &headers))
}

/// Gives the columns and cells of tables that SQL for a question needs: names, types, ranges and
/// frequent values, and the cells that the question may mean, spelled as the tables have them.
/// Without the right `rows` columns alone.
#[utoipa::path(post, path = "/v1/cells", tag = "search", request_body = CellsRequest, responses((status = 200, body = CellsAnswer), Failures))]
async fn cells(
    State(node): Shared,
    grant: Grant,
    ObjectBody(asked): ObjectBody<CellsRequest>,
) -> Answer<CellsAnswer> {
    answers::cells(&node, &grant, &asked).await.map(Json)
}

/// Answers a question from the tables that the caller may see, with the plan, the rows that prove
/// it and what it cost; or runs a plan. As JSON when it is done, within the time of a request; or,
/// where `text/event-stream` is accepted, step by step, within a time of its own: the events
/// `tables_found`, `told`, `stage_started` and `stage_finished`, at last `answer` or `problem`.
/// Needs the rights `ask` and `rows`.
#[utoipa::path(post, path = "/v1/ask", tag = "search", request_body = AskRequest, responses((status = 200, content((AskAnswer = "application/json"), (String = "text/event-stream"))), Failures))]
async fn ask(
    State(node): Shared,
    grant: Grant,
    headers: HeaderMap,
    Extension(held): Extension<Arc<Held>>,
    ObjectBody(asked): ObjectBody<AskRequest>,
) -> Result<Response, Problem> {
    let accept = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok());
    if accept.is_some_and(|it| it.contains("text/event-stream")) {
        return Ok(steps::stream(node, grant, asked, held).into_response());
    }
    let answer = answers::ask(&node, &grant, asked, None).await?;
    Ok(Json(answer).into_response())
}

/// Rows as they come, in the form that the client takes.
fn written(running: answers::sql::Running, headers: &HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT);
    let form = Form::accepted(accept.and_then(|it| it.to_str().ok()));
    let body = Body::from_stream(answers::sql::stream(running.written(form)));
    ([(header::CONTENT_TYPE, form.kind())], body).into_response()
}

/// What became of a table.
#[utoipa::path(get, path = "/v1/table/history", tag = "changes", params(HistoryRequest), responses((status = 200, body = History), Failures))]
async fn history(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<HistoryRequest>,
) -> Answer<History> {
    answers::history(&node, &grant, &asked).await.map(Json)
}

/// Writes a description of a table. Needs the right `describe`, and a node that takes descriptions.
#[utoipa::path(put, path = "/v1/table/description", tag = "tables", request_body = TableDescription, responses((status = 200, body = Described), Failures))]
async fn set_description(
    State(node): Shared,
    grant: Grant,
    ObjectBody(asked): ObjectBody<TableDescription>,
) -> Answer<Described> {
    answers::set_description(&node, &grant, &asked)
        .await
        .map(Json)
}

/// Questions to begin with, from the lake's own words.
#[utoipa::path(get, path = "/v1/examples", tag = "search", responses((status = 200, body = Examples), Failures))]
async fn examples(State(node): Shared, grant: Grant) -> Answer<Examples> {
    node.compute(move || answers::examples(&grant))
        .await?
        .map(Json)
}

/// Lists tables.
#[utoipa::path(get, path = "/v1/tables", tag = "tables", params(ListRequest), responses((status = 200, body = Listing), Failures))]
async fn tables(
    State(node): Shared,
    grant: Grant,
    Asked(asked): Asked<ListRequest>,
) -> Answer<Listing> {
    node.compute(move || answers::list(&grant, &asked))
        .await?
        .map(Json)
}

/// Looks into a folder of the lake.
#[utoipa::path(get, path = "/v1/tree", tag = "tables", params(TreeRequest), responses((status = 200, body = Tree), Failures))]
async fn tree(State(node): Shared, grant: Grant, Asked(asked): Asked<TreeRequest>) -> Answer<Tree> {
    node.compute(move || answers::tree(&grant, &asked))
        .await?
        .map(Json)
}

/// Compares two snapshots.
#[utoipa::path(get, path = "/v1/diff", tag = "changes", params(DiffRequest), responses((status = 200, body = Diff), Failures))]
async fn diff(State(node): Shared, grant: Grant, Asked(asked): Asked<DiffRequest>) -> Answer<Diff> {
    answers::diff(&node, &grant, &asked).await.map(Json)
}

/// Lists snapshots.
#[utoipa::path(get, path = "/v1/snapshots", tag = "changes", responses((status = 200, body = Snapshots), Failures))]
async fn snapshots(State(node): Shared, grant: Grant) -> Answer<Snapshots> {
    answers::snapshots(&node, &grant).await.map(Json)
}

/// Takes events of the lake's store and hands them to the watcher. Needs the right `admin`.
#[utoipa::path(post, path = "/v1/events", tag = "changes", request_body(content = serde_json::Value, description = "Events of S3 or EventBridge"), responses((status = 202), Failures))]
async fn events(
    State(node): Shared,
    grant: Grant,
    request: Request,
) -> Result<StatusCode, Problem> {
    grant.require(Right::Admin)?;
    let Some(events) = &node.events else {
        return Err(Problem::new(
            Code::NotFound,
            "this node hands events to nobody",
            "start it with --events-to ADDRESS of a limn watch --listen",
        ));
    };
    // The body is read when it is known to be of use.
    events
        .send(read_events(request).await?)
        .await
        .map(|()| StatusCode::ACCEPTED)
}

/// How the index and the node are.
#[utoipa::path(get, path = "/v1/status", tag = "node", responses((status = 200, body = Status), Failures))]
async fn status(State(node): Shared, grant: Grant) -> Answer<Status> {
    answers::status(&node, &grant).map(Json)
}

/// Says that the node is running.
#[utoipa::path(get, path = "/health/live", tag = "node", security(()), responses((status = 204)))]
async fn live() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Says that the node can answer: a node answers as soon as it listens, and stays with its snapshot
/// while the index is away. After a question that could not be answered, because the index could
/// not be read, it is asked again here.
#[utoipa::path(get, path = "/health/ready", tag = "node", security(()), responses((status = 204), (status = 503, body = ErrorAnswer)))]
async fn ready(State(node): Shared) -> Result<StatusCode, Problem> {
    crate::trouble::ready(&node).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What Prometheus reads. Needs the right `admin`.
#[utoipa::path(get, path = "/metrics", tag = "node", responses((status = 200, body = String, content_type = "application/openmetrics-text"), (status = "4XX", body = ErrorAnswer)))]
async fn metrics(State(node): Shared, grant: Grant) -> Result<Response, Problem> {
    grant.require(Right::Admin)?;
    if grant.view.reach.paths().is_some() {
        return Err(Problem::new(
            Code::Forbidden,
            "metrics are of the whole index, and the key may see a part of it",
            "ask the operator for a key without --prefix",
        ));
    }
    let text = node
        .metrics
        .text(&node.live)
        .map_err(|_| Problem::internal())?;
    let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok(([(header::CONTENT_TYPE, kind)], text).into_response())
}

fn described() -> OpenApiRouter<Arc<Node>> {
    OpenApiRouter::with_openapi(Description::openapi())
        .routes(routes!(search, search_by_body))
        .routes(routes!(suggest))
        .routes(routes!(examples))
        .routes(routes!(feedback))
        .routes(routes!(table))
        .routes(routes!(set_description))
        .routes(routes!(similar))
        .routes(routes!(joins))
        .routes(routes!(rows))
        .routes(routes!(sql))
        .routes(routes!(cells))
        .routes(routes!(ask))
        .routes(routes!(history))
        .routes(routes!(tables))
        .routes(routes!(tree))
        .routes(routes!(diff))
        .routes(routes!(snapshots))
        .routes(routes!(events))
        .routes(routes!(status))
        .routes(routes!(live))
        .routes(routes!(ready))
        .routes(routes!(metrics))
}

/// The description of the addresses, as OpenAPI has it.
pub fn openapi() -> utoipa::openapi::OpenApi {
    described().into_openapi()
}

/// Addresses that are not described: the page's, the description's own, and that of agents.
const UNDESCRIBED: [&str; 7] = [
    "/",
    "/table",
    "/browse",
    "/changes",
    "/status",
    "/openapi.json",
    "/mcp",
];

/// All addresses of a node.
pub fn router(node: Arc<Node>, hosts: Hosts) -> Router {
    let (router, openapi) = described().split_for_parts();
    let described = openapi.paths.paths.keys().map(String::as_str);
    let known: Arc<[String]> = described.chain(UNDESCRIBED).map(str::to_owned).collect();
    let openapi = bytes::Bytes::from(openapi.to_pretty_json().unwrap_or_default());
    let kind = [(header::CONTENT_TYPE, "application/json")];
    let nowhere = move |address: Uri| async move {
        let meant = nearby(address.path(), &known);
        let remedy = match meant.is_empty() {
            true => "see /openapi.json for what there is".to_owned(),
            false => format!(
                "did you mean {}? See /openapi.json for what there is",
                meant.join(" or ")
            ),
        };
        Problem::new(Code::NotFound, "there is nothing at this address", remedy)
    };
    let not_so = || async {
        Problem::new(
            Code::MethodNotAllowed,
            "this address does not take this method",
            "see /openapi.json for those it takes",
        )
    };
    // A stream of events is sent as it comes.
    let worth = SizeAbove::new(COMPRESSED).and(NotForContentType::SSE);
    let mcp = Router::new()
        .route_service("/mcp", crate::mcp::service(Arc::clone(&node)))
        .layer(axum::middleware::from_fn(messages::around));
    router
        .route("/openapi.json", get(move || async move { (kind, openapi) }))
        .route("/", get(page::index))
        .route("/table", get(page::index))
        .route("/browse", get(page::index))
        .route("/changes", get(page::index))
        .route("/status", get(page::index))
        .route("/assets/{name}", get(page::asset))
        .merge(mcp)
        .fallback(nowhere)
        .method_not_allowed_fallback(not_so)
        .with_state(Arc::clone(&node))
        .layer(axum::middleware::from_fn_with_state(
            Guard { node, hosts },
            guard,
        ))
        .layer(CompressionLayer::new().compress_when(worth))
}
