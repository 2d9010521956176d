"""An app whose handler runs in this release and in the last one."""
