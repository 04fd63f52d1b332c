"""Compiled steps on blocks of users and items."""
