//! From what the client library or the engine says to an [`EngineError`].

use bollard::errors::Error;

use super::EngineError;
use super::http::HttpError;
use crate::shown::one_line;

/// The error of a call through bollard.
pub(super) fn classify(what: &str, error: Error) -> EngineError {
    let what = what.to_owned();
    match error {
        Error::DockerResponseServerError { status_code, message } => refusal(what, status_code, &message),
        Error::DockerStreamError { error } => EngineError::Refused { what, status: 0, message: error },
        Error::SocketNotFoundError(path) => EngineError::Lost { what, reason: format!("{path} is gone") },
        Error::JsonDataError { message, .. } => EngineError::Protocol { what, reason: message },
        Error::JsonSerdeError { err } => EngineError::Protocol { what, reason: err.to_string() },
        Error::HyperLegacyError { err } => EngineError::Lost { what, reason: causes(&err) },
        Error::HyperResponseError { err } => EngineError::Lost { what, reason: causes(&err) },
        Error::IOError { err } => EngineError::Lost { what, reason: err.to_string() },
        other => EngineError::Protocol { what, reason: other.to_string() },
    }
}

/// The error of a request of our own.
pub(super) fn classify_http(what: &str, error: HttpError) -> EngineError {
    let what = what.to_owned();
    match error {
        HttpError::Connect(error) => EngineError::Lost { what, reason: error.to_string() },
        HttpError::Broken(reason) => EngineError::Lost { what, reason },
    }
}

/// The error that an HTTP status and the engine's words mean. Those may quote a container's own.
pub(super) fn refusal(what: String, status: u16, message: &str) -> EngineError {
    let message = one_line(message.trim());
    match status {
        404 => EngineError::NotFound { what, message },
        _ => EngineError::Refused { what, status, message },
    }
}

/// The error of `create`: here 404 is the image and 409 the name.
pub(super) fn create_refused(error: EngineError, name: &str, image: &str) -> EngineError {
    match error {
        EngineError::NotFound { message, .. } if is_image_missing(&message) => {
            EngineError::ImageMissing { image: image.to_owned() }
        }
        EngineError::Refused { status: 409 | 500, message, .. } if message.contains("already in use") => {
            EngineError::NameConflict { name: name.to_owned(), holder: holder(&message) }
        }
        other => other,
    }
}

/// Docker says "No such image: X", Podman "X: image not known" or "No such image".
fn is_image_missing(message: &str) -> bool {
    let message = message.to_lowercase();
    message.contains("no such image") || message.contains("image not known")
}

/// The container id in a conflict message: its only run of 64 hex digits.
fn holder(message: &str) -> String {
    let mut words = message.split(|c: char| !c.is_ascii_hexdigit());
    words.find(|word| word.len() == 64).unwrap_or_default().to_owned()
}

/// An error with its causes: the client library's own text stops at "client error".
fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(status_code: u16, message: &str) -> EngineError {
        let error = Error::DockerResponseServerError { status_code, message: message.to_owned() };
        create_refused(classify("create box", error), "box", "img:1")
    }

    #[test]
    fn create_names_image_and_holder() {
        let missing = server(404, "No such image: img:1");
        assert!(matches!(missing, EngineError::ImageMissing { image } if image == "img:1"));
        assert!(matches!(server(404, "img:1: image not known"), EngineError::ImageMissing { .. }));
        let id = "ab".repeat(32);
        let docker =
            format!("Conflict. The container name \"/box\" is already in use by container \"{id}\". You");
        let podman = format!("the container name \"box\" is already in use by {id}. You have to remove that");
        for (status, message) in [(409, docker), (500, podman)] {
            let conflict = server(status, &message);
            assert!(
                matches!(&conflict, EngineError::NameConflict { holder, .. } if *holder == id),
                "{conflict}"
            );
        }
    }

    #[test]
    fn other_statuses_keep_the_engines_words() {
        assert!(matches!(server(404, "No such network"), EngineError::NotFound { .. }));
        let refused = server(400, "invalid mount config");
        assert!(matches!(&refused, EngineError::Refused { status: 400, .. }));
        assert!(refused.to_string().contains("invalid mount config"));
    }
}
