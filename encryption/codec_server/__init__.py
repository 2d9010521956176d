"""The codec server: decodes values for operators' browsers. It alone has keys and an audit log."""
