"""Rules that hold across the catalog's files: one module each, all findings at once."""

from __future__ import annotations

import datetime
from pathlib import Path

from generator.lint import (
    citations,
    cited,
    derived,
    file_name,
    filled,
    key_order,
    licenses,
    makers,
    measurements,
    models_build,
    notes,
    plausible,
    references,
    sources,
    stale,
    unique_ids,
    unread,
)
from generator.lint.rule import Check, Context
from generator.load import read_documents
from generator.problem import Problem

RULES: tuple[Check, ...] = (
    file_name.check,
    filled.check,
    unique_ids.check,
    makers.check,
    licenses.check,
    cited.check,
    citations.check,
    sources.check,
    notes.check,
    derived.check,
    plausible.check,
    references.check,
    measurements.check,
    models_build.check,
    unread.check,
    key_order.check,
    stale.check,
)


def check(root: Path, today: datetime.date) -> list[Problem]:
    """Every problem of the catalog, sorted by file and key; notes among them fail nothing.

    Args:
        root: The `catalog` folder.
        today: The date that access dates are held against.
    """
    documents, problems = read_documents(root)
    context = Context(root=root, today=today)
    for rule in RULES:
        problems.extend(rule(documents, context))
    # Of what a draft leaves open nothing else is to be said.
    left_open = {(each.path, each.key) for each in problems if each.message == filled.STILL_OPEN}
    return sorted(
        each
        for each in problems
        if each.message == filled.STILL_OPEN or (each.path, each.key) not in left_open
    )
