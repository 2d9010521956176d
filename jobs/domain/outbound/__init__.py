"""Judge the addresses of outbound requests, and encrypt secrets that these requests need."""
