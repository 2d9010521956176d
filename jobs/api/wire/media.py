"""Media types and version of the HTTP binding. Spec: contract 3.1, D15."""

OJS_TYPE = "application/openjobspec+json"
JSON_TYPE = "application/json"
OJS_VERSION = "1.0"
STREAM_TYPE = "text/event-stream"
SERVED = "ojs.streams"  # environ key: the server sends streams outside its request threads
GONE = "ojs.gone"  # in the environ: returns whether the client has closed its connection
SEND = "ojs.send"  # in the environ: sends an answer after the application has returned LATER
