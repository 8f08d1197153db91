"""The JSON that programs read: `docs/api/v1/`.

One list of endpoints feeds the paths, the index, the schemas and the OpenAPI description. Arrays of
a model are flat, in row-major order of the axes that stand beside them; bytes and counts are
integers below 2^53.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from generator.core.band import GENERIC_PERMILLE
from generator.core.card import Card
from generator.core.fit import FIT_PERCENT, fit_limit_bytes, tight_limit_bytes
from generator.core.memory import LINES
from generator.core.request import DEFAULTS
from generator.core.solve import SEQUENCE_STEP_TOKENS
from generator.emit.facts import ModelFacts
from generator.matrix import Axes
from generator.tables import fewest_gpus
from generator.tables.time_and_cost import TimeRow
from generator.tables.view import ModelView

SCHEMA_VERSION = "1.0.0"
DATA_LICENSE = "CC0-1.0"
ROOT = "api/v1"

Json = dict[str, Any]

RATES = {
    f"peak_dense_{dtype}_flops_per_second": f"peak_dense_{dtype}_teraflops_per_second"
    for dtype in ("bf16", "fp16", "fp8")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One kind of file under `api/v1/`."""

    path: str
    schema: str
    summary: str


ENDPOINTS = (
    Endpoint(path="index.json", schema="index", summary="What there is, and how much of it"),
    Endpoint(path="models.json", schema="models", summary="All models with their smallest set-ups"),
    Endpoint(path="cards.json", schema="cards", summary="All cards with their limits and rates"),
    Endpoint(
        path="models/{id}.json",
        schema="model",
        summary="One model: bytes per GPU of every set-up, and the first GPU count that fits",
    ),
)


def data_version(paths: Iterable[Path], root: Path) -> str:
    """Twelve hexadecimal digits that change whenever the catalog or the core does."""
    digest = hashlib.sha256()
    for path in sorted(paths):
        digest.update(path.relative_to(root).as_posix().encode())
        digest.update(b"\0")
        digest.update(path.read_bytes())
        digest.update(b"\0")
    return digest.hexdigest()[:12]


def envelope(version: str, items: list[Json]) -> Json:
    """What every file starts with."""
    return {
        "schema_version": SCHEMA_VERSION,
        "data_version": version,
        "license": DATA_LICENSE,
        "items": items,
    }


def dump(value: Json) -> str:
    """Compact JSON with a line end."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n"


def conditions() -> Json:
    """What holds for every figure of the matrix, as request fields."""
    varied = {"method", "optimizer", "strategy", "num_gpus", "sequence_length", "card"}
    return {key: value for key, value in DEFAULTS.items() if key not in varied}


def card_item(card: Card) -> Json:
    """One card with its limits."""
    plain = {key: value for key, value in asdict(card).items() if key not in ("aliases", *RATES)}
    for key, name in RATES.items():
        # The largest rates pass 2^53, so they are given in tera.
        rate = getattr(card, key)
        plain[name] = None if rate is None else rate / 10**12
    return {
        **plain,
        "allowed_gpu_counts": list(card.allowed_gpu_counts),
        "fits_up_to_bytes": fit_limit_bytes(card),
        "tight_up_to_bytes": tight_limit_bytes(card),
        "url": f"cards/{card.id}/",
    }


def model_item(facts: ModelFacts, view: ModelView) -> Json:
    """One model in the list: identity, size, smallest set-up per method."""
    entry = facts.entry
    setups = fewest_gpus.smallest_setups(view, view.axes.default_optimizer)
    return {
        **_identity(facts),
        "family": entry.family,
        "developer": entry.developer,
        "released": entry.released,
        "license": entry.license,
        "status": entry.status,
        "url": f"models/{entry.id}/",
        "json": f"{ROOT}/models/{entry.id}.json",
        "smallest": [
            {
                "method": method,
                "card": setup.card.card.id if setup else None,
                "num_gpus": setup.cell.num_gpus if setup else None,
                "strategy": setup.cell.strategy if setup else None,
                "total_bytes_per_gpu": setup.cell.total_bytes if setup else None,
                "row": setup.row_id if setup else None,
            }
            for method, setup in zip(view.axes.methods, setups, strict=True)
        ],
    }


def _identity(facts: ModelFacts) -> Json:
    return {
        "id": facts.entry.id,
        "name": facts.entry.name,
        "hugging_face": facts.entry.hugging_face,
        "num_parameters": facts.num_parameters,
    }


def model_grid(facts: ModelFacts, view: ModelView, times: Sequence[TimeRow]) -> Json:
    """One model's whole matrix: axes and flat integers."""
    axes = view.axes
    lengths = [each.workload.sequence_length for each in axes.workloads]
    totals = view.matrix.total_bytes.ravel().tolist()
    return {
        **_identity(facts),
        "conditions": conditions(),
        "axes": {
            "method": list(axes.methods),
            "optimizer": list(view.optimizers),
            "strategy": list(axes.strategies),
            "num_gpus": list(axes.gpu_counts),
            "sequence_length": lengths,
            "card": [card.id for card in axes.cards],
        },
        "total_bytes_per_gpu_axes": [
            "method",
            "optimizer",
            "strategy",
            "num_gpus",
            "sequence_length",
        ],
        "total_bytes_per_gpu": [total or None for total in totals],
        "parts_per_gpu": parts(view),
        **_likely(axes),
        "first_num_gpus_axes": ["method", "optimizer", "strategy", "sequence_length", "card"],
        "first_num_gpus": view.matrix.first_fits.ravel().tolist(),
        "fits_up_to_bytes": [fit_limit_bytes(card) for card in axes.cards],
        "tight_up_to_bytes": [tight_limit_bytes(card) for card in axes.cards],
        "allowed_gpu_counts": [list(card.allowed_gpu_counts) for card in axes.cards],
        "longest_sequence": [
            {
                "method": method,
                "strategy": strategy,
                "num_gpus": num_gpus,
                "tokens": [by_card.get(card.id) for card in axes.cards],
            }
            for (method, strategy, num_gpus), by_card in view.longest.items()
        ],
        "time_and_cost": [
            {
                "method": method,
                "card": row.card.card.id,
                "strategy": cell.cell.strategy,
                "num_gpus": cell.cell.num_gpus,
                "num_tokens": cell.num_tokens,
                "hours": cell.hours,
                "usd_low": cell.usd_low,
                "usd_high": cell.usd_high,
                "price_date": cell.price_date,
            }
            for row in times
            for method, cell in zip(axes.methods, row.cells, strict=True)
            if cell is not None
        ],
    }


def parts(view: ModelView) -> list[Json]:
    """What the totals are made of: per memory line a flat array over the axes that change it.

    An axis along which a line has the same bytes in every set-up is left out, which keeps the file
    small without losing a byte.
    """
    names = ["method", "optimizer", "strategy", "num_gpus", "sequence_length"]
    exists = view.matrix.total_bytes > 0
    found = []
    for line, values in zip(LINES, view.matrix.line_bytes, strict=True):
        kept, listed = list(names), np.where(exists, values, -1)
        for name in names:
            axis = kept.index(name)
            most = listed.max(axis=axis, keepdims=True)
            if np.all((listed == most) | (listed < 0)):
                listed = most.squeeze(axis)
                kept.remove(name)
        flat = [None if value < 0 else value for value in listed.ravel().tolist()]
        found.append({"part": line, "axes": kept, "bytes": flat})
    return found


def _likely(axes: Axes) -> Json:
    """How far published readings lie below and above a total, in thousandths, by GPU count."""
    kinds = [GENERIC_PERMILLE["single" if count == 1 else "sharded"] for count in axes.gpu_counts]
    return {
        "likely_below_permille": [below for below, _ in kinds],
        "likely_above_permille": [above for _, above in kinds],
    }


_INTEGER: Json = {"type": "integer", "minimum": 0, "maximum": 2**53 - 1}
_MAYBE_INTEGER: Json = {"type": ["integer", "null"], "minimum": 0, "maximum": 2**53 - 1}
_TEXT: Json = {"type": "string"}
_MAYBE_TEXT: Json = {"type": ["string", "null"]}
_MAYBE_NUMBER: Json = {"type": ["number", "null"]}


def _object(
    properties: Mapping[str, Json], description: str = "", optional: Iterable[str] = ()
) -> Json:
    schema: Json = {
        "type": "object",
        "properties": dict(properties),
        "required": [name for name in properties if name not in set(optional)],
    }
    if description:
        schema["description"] = description
    return schema


def _list(items: Json, description: str = "") -> Json:
    schema: Json = {"type": "array", "items": items}
    if description:
        schema["description"] = description
    return schema


def _described(schema: Json, description: str) -> Json:
    return {**schema, "description": description}


_IDENTITY: dict[str, Json] = {
    "id": _described(_TEXT, "Catalog id; part of every address"),
    "name": _TEXT,
    "hugging_face": _described(_TEXT, "Repository on the Hugging Face hub"),
    "num_parameters": _described(_INTEGER, "All parameters, shared tensors counted once"),
}

ITEM_SCHEMAS: dict[str, Json] = {
    "index": _object(
        {
            "path": _described(_TEXT, "Address below `api/v1/`; `{id}` stands for an id"),
            "schema": _described(_TEXT, "Address of its JSON Schema below `api/v1/`"),
            "summary": _TEXT,
            "count": _described(_INTEGER, "Files behind this address"),
        }
    ),
    "models": _object(
        {
            **_IDENTITY,
            "family": _TEXT,
            "developer": _TEXT,
            "released": _described(_TEXT, "Month"),
            "license": _TEXT,
            "status": _TEXT,
            "url": _described(_TEXT, "Page, relative to the site's root"),
            "json": _described(_TEXT, "The model's own file, relative to the site's root"),
            "smallest": _list(
                _object(
                    {
                        "method": _TEXT,
                        "card": _MAYBE_TEXT,
                        "num_gpus": _MAYBE_INTEGER,
                        "strategy": _MAYBE_TEXT,
                        "total_bytes_per_gpu": _MAYBE_INTEGER,
                        "row": _described(_MAYBE_TEXT, "Row id on the model's page"),
                    }
                ),
                "Per method, the least card memory on which it fits; null where no set-up fits",
            ),
        }
    ),
    "cards": _object(
        {
            "id": _TEXT,
            "name": _TEXT,
            "vendor": _TEXT,
            "form": _TEXT,
            "status": _TEXT,
            "memory_marketed_gb": _described(_INTEGER, "Decimal gigabytes on the box"),
            "memory_usable_bytes": _described(_MAYBE_INTEGER, "What the driver reports"),
            "fits_up_to_bytes": _described(
                _INTEGER, f"Totals up to this fit: {FIT_PERCENT} % of the marketed size"
            ),
            "tight_up_to_bytes": _described(_INTEGER, "Totals up to this are tight"),
            "allowed_gpu_counts": _list(_INTEGER, "Counts that the ladder climbs"),
            "gpus_per_node": _INTEGER,
            "memory_bandwidth_bytes_per_second": _MAYBE_INTEGER,
            "peak_dense_bf16_teraflops_per_second": _MAYBE_NUMBER,
            "peak_dense_fp16_teraflops_per_second": _MAYBE_NUMBER,
            "peak_dense_fp8_teraflops_per_second": _MAYBE_NUMBER,
            "link_bytes_per_second": _MAYBE_INTEGER,
            "interconnect": _TEXT,
            "supports_bf16": {"type": "boolean"},
            "supports_flash_attention": {"type": "boolean"},
            "price_usd_per_hour": _MAYBE_NUMBER,
            "price_usd_per_hour_high": _MAYBE_NUMBER,
            "price_date": _MAYBE_TEXT,
            "released": _MAYBE_TEXT,
            "note": _TEXT,
            "url": _TEXT,
        }
    ),
    "model": _object(
        {
            **_IDENTITY,
            "conditions": {
                "type": "object",
                "description": "Request fields that hold for every figure of this file",
            },
            "axes": _object(
                {
                    "method": _list(_TEXT),
                    "optimizer": _list(_TEXT),
                    "strategy": _list(_TEXT),
                    "num_gpus": _list(_INTEGER),
                    "sequence_length": _list(_INTEGER),
                    "card": _list(_TEXT),
                }
            ),
            "total_bytes_per_gpu_axes": _list(
                _TEXT, "Axes of `total_bytes_per_gpu`, slowest first"
            ),
            "total_bytes_per_gpu": _list(
                _MAYBE_INTEGER, "Bytes that one GPU must hold; null where there is no such set-up"
            ),
            "parts_per_gpu": _list(
                _object(
                    {
                        "part": _described(_TEXT, "Memory line; all lines add up to the total"),
                        "axes": _list(
                            _TEXT,
                            "Axes of `bytes`, slowest first; along those left out nothing changes",
                        ),
                        "bytes": _list(_MAYBE_INTEGER),
                    }
                ),
                "What `total_bytes_per_gpu` is made of, at the worst instant of a step",
            ),
            "likely_below_permille": _list(
                _INTEGER, "By GPU count: how far readings may lie below a total, in thousandths"
            ),
            "likely_above_permille": _list(
                _INTEGER, "By GPU count: how far readings may lie above a total, in thousandths"
            ),
            "first_num_gpus_axes": _list(_TEXT, "Axes of `first_num_gpus`, slowest first"),
            "first_num_gpus": _list(_INTEGER, "First count that fits; 0 where none does"),
            "fits_up_to_bytes": _list(_INTEGER, "By card: totals up to this fit"),
            "tight_up_to_bytes": _list(_INTEGER, "By card: totals up to this are tight"),
            "allowed_gpu_counts": _list(_list(_INTEGER), "By card"),
            "longest_sequence": _list(
                _object(
                    {
                        "method": _TEXT,
                        "strategy": _TEXT,
                        "num_gpus": _INTEGER,
                        "tokens": _list(
                            _MAYBE_INTEGER,
                            f"By card, in multiples of {SEQUENCE_STEP_TOKENS}; 0 where nothing "
                            "fits, null where the card does not come in this count",
                        ),
                    }
                )
            ),
            "time_and_cost": _list(
                _object(
                    {
                        "method": _TEXT,
                        "card": _TEXT,
                        "strategy": _TEXT,
                        "num_gpus": _INTEGER,
                        "num_tokens": _INTEGER,
                        "hours": {"type": "number", "minimum": 0},
                        "usd_low": _MAYBE_NUMBER,
                        "usd_high": _MAYBE_NUMBER,
                        "price_date": _described(_MAYBE_TEXT, "Month of the newest price"),
                    }
                ),
                "On the fewest GPUs that hold the first workload; null where no price is known",
            ),
        }
    ),
}


def schema(endpoint: Endpoint) -> Json:
    """JSON Schema of one kind of file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": endpoint.summary,
        "type": "object",
        "properties": {
            "schema_version": _TEXT,
            "data_version": _described(_TEXT, "Changes whenever the catalog or the estimator does"),
            "license": _described(_TEXT, "SPDX id"),
            "items": _list(ITEM_SCHEMAS[endpoint.schema]),
        },
        "required": ["schema_version", "data_version", "license", "items"],
    }


def openapi() -> Json:
    """The files as an OpenAPI description."""
    paths: Json = {}
    for endpoint in ENDPOINTS:
        operation: Json = {
            "summary": endpoint.summary,
            "operationId": endpoint.schema,
            "responses": {
                "200": {
                    "description": endpoint.summary,
                    "content": {
                        "application/json": {"schema": {"$ref": f"schema/{endpoint.schema}.json"}}
                    },
                }
            },
        }
        if "{id}" in endpoint.path:
            operation["parameters"] = [
                {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
            ]
        paths[f"/{endpoint.path}"] = {"get": operation}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "trainfit",
            "version": SCHEMA_VERSION,
            "description": "Whether a fine-tune fits, as static JSON files.",
            "license": {"name": DATA_LICENSE},
        },
        "servers": [{"url": "."}],
        "paths": paths,
    }


def files(
    *,
    version: str,
    facts: Mapping[str, ModelFacts],
    views: Mapping[str, ModelView],
    axes: Axes,
    times: Mapping[str, Sequence[TimeRow]],
) -> Iterable[tuple[str, str]]:
    """Every JSON file: its path below `docs/` and its text."""
    counts = {"models/{id}.json": len(facts)}
    index = [
        {
            "path": endpoint.path,
            "schema": f"schema/{endpoint.schema}.json",
            "summary": endpoint.summary,
            "count": counts.get(endpoint.path, 1),
        }
        for endpoint in ENDPOINTS
    ]
    models = [model_item(facts[model_id], view) for model_id, view in views.items()]
    cards = [card_item(card) for card in axes.cards]
    single = {"index.json": index, "models.json": models, "cards.json": cards}
    for path, items in single.items():
        yield f"{ROOT}/{path}", dump(envelope(version, items))
    for model_id, view in views.items():
        grid = model_grid(facts[model_id], view, times[model_id])
        yield f"{ROOT}/models/{model_id}.json", dump(envelope(version, [grid]))
    for endpoint in ENDPOINTS:
        yield f"{ROOT}/schema/{endpoint.schema}.json", _readable(schema(endpoint))
    yield f"{ROOT}/openapi.json", _readable(openapi())


def _readable(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
