//! Answers to messages that cannot be served: what is no JSON-RPC, and what asks for methods that
//! are not there.

use rmcp::ErrorData;
use rmcp::model::{CustomRequest, ErrorCode};
use serde_json::{Value, json};

use crate::problem::shortened;

/// Methods that are answered.
const METHODS: [&str; 5] = [
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
];

/// Why some bytes are no message, with the id that an answer to it has.
#[derive(Debug)]
pub(crate) struct Refused {
    id: Value,
    error: ErrorData,
}

impl Refused {
    /// Why these bytes are no message.
    pub(crate) fn of(bytes: &[u8]) -> Refused {
        let message: Value = match serde_json::from_slice(bytes) {
            Ok(message) => message,
            Err(error) => {
                let said = format!("Parse error: the message is no JSON ({error})");
                let error = ErrorData::parse_error(said, remedy("send one object of JSON"));
                return Refused::without_id(error);
            }
        };
        let method = message.get("method").and_then(Value::as_str);
        // The id of an answer is none of a request's.
        let is_answer = message.get("result").or(message.get("error")).is_some();
        let id = message.get("id").filter(|_| !is_answer);
        let id = id.filter(|id| id.is_string() || id.is_i64());
        let has_wrong = message.get("params").is_some_and(|it| !it.is_object());
        let error = match (id, method) {
            (Some(_), Some(method)) if has_wrong => wrong_params(method),
            _ if message.is_array() => invalid("a list of messages", "send one message at a time"),
            _ => invalid(
                "this is no message of JSON-RPC 2.0",
                r#"send such as {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}"#,
            ),
        };
        Refused {
            id: id.cloned().unwrap_or_default(),
            error,
        }
    }

    /// A message that is longer than one may be.
    pub(super) fn too_long(most: usize) -> Refused {
        let said = format!("the message has more than {most} bytes");
        let error = invalid(&said, "ask for less at a time");
        Refused::without_id(error)
    }

    fn without_id(error: ErrorData) -> Refused {
        Refused {
            id: Value::Null,
            error,
        }
    }

    /// The answer.
    pub(crate) fn answer(&self) -> Value {
        json!({ "jsonrpc": "2.0", "id": self.id, "error": self.error })
    }
}

/// A request that comes before a session has begun.
pub(super) fn too_early(method: &str) -> ErrorData {
    let method = shortened(method, 100);
    ErrorData::invalid_request(
        format!("the session has not begun: '{method}' comes too early"),
        remedy("send initialize first, and notifications/initialized when it is answered"),
    )
}

/// A method that is none of ours, or one of ours with parameters that are not its own.
pub(super) fn not_understood(request: &CustomRequest) -> ErrorData {
    let method = request.method.as_str();
    if METHODS.contains(&method) {
        return wrong_params(method);
    }
    no_method(method)
}

fn wrong_params(method: &str) -> ErrorData {
    let method = shortened(method, 100);
    ErrorData::invalid_params(
        format!("the params of {method} cannot be understood"),
        remedy("send those that the Model Context Protocol has for it"),
    )
}

/// A method that is none of ours.
pub(super) fn no_method(method: &str) -> ErrorData {
    let method = shortened(method, 100);
    ErrorData::new(
        ErrorCode::METHOD_NOT_FOUND,
        format!("there is no method '{method}' here: this server has tools alone"),
        remedy("see tools/list for the tools, and use them by tools/call"),
    )
}

fn invalid(said: &str, to_do: &str) -> ErrorData {
    ErrorData::invalid_request(format!("Invalid request: {said}"), remedy(to_do))
}

/// What errors of JSON-RPC carry.
fn remedy(text: &str) -> Option<Value> {
    Some(json!({ "remedy": text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_refused_with_its_id() {
        for (bytes, code, id) in [
            (&b"{bad"[..], -32700, Value::Null),
            (b"", -32700, Value::Null),
            (b"\xff\xfe", -32700, Value::Null),
            (b"{}", -32600, Value::Null),
            (b"[]", -32600, Value::Null),
            (b"5", -32600, Value::Null),
            (br#"{"id": 7, "method": "ping"}"#, -32600, json!(7)),
            (
                br#"{"jsonrpc": "1.0", "id": "a", "method": "ping"}"#,
                -32600,
                json!("a"),
            ),
            (
                br#"{"jsonrpc": "2.0", "id": [1], "method": "ping"}"#,
                -32600,
                Value::Null,
            ),
        ] {
            let answer = Refused::of(bytes).answer();
            assert_eq!(
                (&answer["error"]["code"], &answer["id"]),
                (&json!(code), &id),
                "{answer}"
            );
            assert_eq!(answer["jsonrpc"], "2.0");
            assert!(answer["error"]["data"]["remedy"].is_string());
        }
    }
}
