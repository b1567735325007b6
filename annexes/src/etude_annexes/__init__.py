"""Parts of etude that few need and that its core does not import."""
