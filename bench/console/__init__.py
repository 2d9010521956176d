"""Response times of the console's pages with many jobs."""
