"""The interfaces of other libraries, for projects that come from them."""
