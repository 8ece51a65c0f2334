"""Lets the tests of this folder import the graphs they share."""
