"""Records as plain dictionaries and back: what the browser archive and the tests exchange."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from generator.core.card import Card
from generator.core.catalog import Catalog, CatalogModel, Expected
from generator.core.method import Method
from generator.core.optimizer import Optimizer, OptimizerState
from generator.core.stack import Stack, StackVersion


def to_plain(value: object) -> Any:
    """A record as JSON types: fields that hold their default are left out, tuples become lists."""
    if is_dataclass(value) and not isinstance(value, type):
        plain: dict[str, Any] = {}
        for each in fields(value):
            own = getattr(value, each.name)
            if own != each.default:
                plain[each.name] = to_plain(own)
        return plain
    if isinstance(value, Mapping):
        return {str(key): to_plain(own) for key, own in value.items()}
    if isinstance(value, tuple | list):
        return [to_plain(own) for own in value]
    return value


def catalog_to_dict(catalog: Catalog) -> dict[str, Any]:
    """The whole catalog as JSON types, records by id in the catalog's order."""
    return {
        "models": {key: to_plain(record) for key, record in catalog.models.items()},
        "cards": {key: to_plain(record) for key, record in catalog.cards.items()},
        "optimizers": {key: to_plain(record) for key, record in catalog.optimizers.items()},
        "methods": {key: to_plain(record) for key, record in catalog.methods.items()},
        "stacks": {key: to_plain(record) for key, record in catalog.stacks.items()},
    }


def _model(plain: dict[str, Any]) -> CatalogModel:
    expected = plain.get("expected")
    return CatalogModel(
        **{
            **plain,
            "aliases": tuple(plain.get("aliases", ())),
            "expected": None if expected is None else Expected(**expected),
        }
    )


def _card(plain: dict[str, Any]) -> Card:
    fields: dict[str, Any] = {
        key: tuple(own) if isinstance(own, list) else own for key, own in plain.items()
    }
    return Card(**fields)


def _optimizer(plain: dict[str, Any]) -> Optimizer:
    return Optimizer(
        **{
            **plain,
            "states": tuple(OptimizerState(**state) for state in plain["states"]),
            "aliases": tuple(plain.get("aliases", ())),
        }
    )


def _stack(plain: dict[str, Any]) -> Stack:
    versions = tuple(
        StackVersion(
            before=version["before"], changes=tuple((name, own) for name, own in version["changes"])
        )
        for version in plain.get("versions", ())
    )
    defaults = tuple((name, own) for name, own in plain.get("defaults", ()))
    return Stack(**{**plain, "versions": versions, "defaults": defaults})


def _method(plain: dict[str, Any]) -> Method:
    return Method(**{**plain, "aliases": tuple(plain.get("aliases", ()))})


def catalog_from_dict(plain: Mapping[str, Any]) -> Catalog:
    """The catalog that `catalog_to_dict` wrote."""
    return Catalog(
        models={key: _model(own) for key, own in plain["models"].items()},
        cards={key: _card(own) for key, own in plain["cards"].items()},
        optimizers={key: _optimizer(own) for key, own in plain["optimizers"].items()},
        methods={key: _method(own) for key, own in plain["methods"].items()},
        stacks={key: _stack(own) for key, own in plain["stacks"].items()},
    )
