"""The check of the order of locks finds what it is for, also over a third lock."""

from __future__ import annotations

from lock_order import circles


def test_locks_in_one_order_are_in_order() -> None:
    assert circles({"a": {"b": "x.py:1", "c": "x.py:2"}, "b": {"c": "x.py:3"}}) == []


def test_two_orders_are_found() -> None:
    assert len(circles({"a": {"b": "x.py:1"}, "b": {"a": "y.py:2"}})) == 2
    assert len(circles({"a": {"b": "x.py:1"}, "b": {"c": "y.py:2"}, "c": {"a": "z.py:3"}})) == 3
