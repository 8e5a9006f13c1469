//! A row of the database becomes a document.
