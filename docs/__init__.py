"""The pages of the manual, and the package that makes their site: `docs.site`."""
