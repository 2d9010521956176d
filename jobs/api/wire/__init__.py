"""Read requests and write answers: media types, headers, pages, and the JSON of jobs and events."""
