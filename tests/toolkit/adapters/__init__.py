"""Tests of servers that were written with other frameworks and put under the contract."""
