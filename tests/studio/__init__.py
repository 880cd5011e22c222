"""The studio: journeys through the page in a real browser, against a real server."""
