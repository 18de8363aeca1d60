"""Widgets of the page."""
