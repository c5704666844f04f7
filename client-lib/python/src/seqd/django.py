"""Fields and defaults for Django models (3.2 and up).

    from seqd.django import IdField, TextIdField

    class Order(models.Model):
        id = IdField("orders", primary_key=True)
        number = TextIdField("invoices", max_length=40, unique=True)

For numbers without gaps, of a register, the key is another field, which is set before the row is saved:

        uid = models.UUIDField(primary_key=True, default=uuid.uuid4)
        number = AssignedTextField("invoices", key="uid", max_length=40, unique=True)

The fields take an ID when a row without a value is saved, by save() or bulk_create(). A save that fails afterwards leaves an
ID that no row has; the value stays in the instance, so saving it again takes none. The setting SEQD_SOCKET, if there is one,
names the socket; otherwise it is that of seqd.Client. Rows that are written without the model's save() get no number:
ArgumentError says what to do where they need one. MODELS.md has every way of writing.
"""

from __future__ import annotations

import atexit
import sys
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar

from django.apps import apps
from django.conf import settings
from django.core import checks
from django.db import DatabaseError, models, transaction
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.utils.deconstruct import deconstructible

from .client import Client, default_client
from .errors import ArgumentError, TooLarge

T = TypeVar("T")
_by_socket: Dict[str, Client] = {}


def client() -> Client:
    """The client of this process. Safe in threads and after fork(); closed at the end of the process."""
    path = getattr(settings, "SEQD_SOCKET", None)
    if path is None:
        return default_client()
    found = _by_socket.get(str(path))
    if found is None:
        # Two threads may make one each: the one that is not kept has no connection yet.
        found = _by_socket.setdefault(str(path), Client(path, name="django"))
        atexit.register(found.close)
    return found


def numbered(instances: Iterable[T]) -> List[T]:
    """The instances as a list, each with its numbers, which are taken in one go."""
    found = list(instances)
    empty: Dict[_Taking, List[T]] = {}
    for instance in found:
        for field in instance._meta.concrete_fields:  # type: ignore[attr-defined]
            if isinstance(field, _Taking) and getattr(instance, field.attname) in (None, ""):
                empty.setdefault(field, []).append(instance)
    for field, those in empty.items():
        for instance, value in zip(those, field.take(those)):
            setattr(instance, field.attname, value)
    return found


def _take_many(sequence: str, count: int) -> List[int]:
    ids: List[int] = []
    size = count
    while len(ids) < count:
        try:
            ids += client().next_many(sequence, min(size, count - len(ids)))
        except TooLarge:  # for the limit max_count of the daemon
            if size == 1:
                raise
            size = (size + 1) // 2
    return ids


# --- rows that are there already
def _locals_of(function: Any) -> Optional[Mapping[str, Any]]:
    """The local variables of a function of Django that is being carried out, or None. Functions of fields and of the program
    may be between."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_code is not function.__code__:
        frame = frame.f_back
    return None if frame is None else frame.f_locals


def _asking_migration() -> Optional[Mapping[str, Any]]:
    """Those of a migration that asks for a default, which would be that of all rows."""
    return _locals_of(BaseDatabaseSchemaEditor.effective_default)


def _exist(rows: Any) -> bool:
    with transaction.atomic(rows.db):
        return bool(rows.exists())


def _check_rows(field: Any, sequence: str, connection: Any, migration: Optional[Mapping[str, Any]]) -> None:
    """Raises ArgumentError if a migration is about to give rows that are there one value for all of them. In an empty table,
    and in one whose rows have their numbers, it may go on."""
    meta = field.model._meta
    rows = field.model._base_manager.using(connection.alias).order_by().values(meta.pk.name)
    empty = models.Q(**{f"{field.name}__isnull": True})
    try:
        are_there = _exist(rows.filter(empty | models.Q(**{field.name: ""}) if field.empty_strings_allowed else empty))
    except DatabaseError:  # there is no such column yet
        try:
            are_there = _exist(rows)
        except DatabaseError:
            if migration is None or not migration["self"].collect_sql:
                raise
            return  # sqlmigrate, before the table is there
    if are_there:
        raise ArgumentError(f"{meta.label}.{field.name}: the rows that are there would all get the same value. Add the field with "
                            f'null=True, give each row a number of "{sequence}" (RunPython), and then alter it to null=False')


class _Next:
    """What both defaults share."""

    method = "next"

    def __init__(self, sequence: str) -> None:
        self.sequence = sequence

    def __call__(self) -> Any:
        migration = _asking_migration()
        if migration is None:
            return getattr(client(), self.method)(self.sequence)
        field = migration["field"]
        if not field.null:
            _check_rows(field, self.sequence, migration["self"].connection, migration)
        return None


@deconstructible
class NextId(_Next):
    """A default for any field: default=NextId("orders"). Django calls it when an instance is made, even if it is never
    saved; IdField takes an ID only when it is."""


@deconstructible
class NextText(_Next):
    """The same for a text."""

    method = "next_text"


_DEFAULT = {"msg": "a row without a number would get the default= instead of one", "hint": "Leave default= out.", "id": "seqd.E001"}
_COPIES = {"msg": "the field has no unique=True, so a copy of an instance keeps its number",
           "hint": "Set unique=True, or empty the field of a copy.", "id": "seqd.W001"}


@checks.register(checks.Tags.models)  # type: ignore[misc]
def check_defaults(app_configs: Any, **_: Any) -> List[Any]:
    """A check of Django: the warning of IdField and TextIdField for the fields of other kinds with these defaults."""
    kinds = [model for config in app_configs or apps.get_app_configs() for model in config.get_models()]
    return [checks.Warning(obj=field, **_COPIES) for model in kinds for field in model._meta.local_fields
            if isinstance(field.default, _Next) and not field.unique]


# --- fields
def _at_save() -> None:
    """As the default of a primary key: a new instance has none, and Django inserts its row without trying an UPDATE, which
    would replace an older row that has the number already."""


class _Taking:
    """What both fields share. `sequence`: the name of the sequence."""

    attname: str
    default: Any
    model: Any
    null: bool
    unique: bool
    method: str

    def __init__(self, sequence: str, *args: Any, **kwargs: Any) -> None:
        self.sequence = sequence
        kwargs.setdefault("editable", False)
        kwargs.setdefault("blank", True)
        if kwargs.get("primary_key"):
            kwargs.setdefault("default", _at_save)
        if "db_default" in kwargs:
            raise ArgumentError(f'db_default= would be one value for all rows: leave it out, and each row has a number of "{sequence}"')
        super().__init__(*args, **kwargs)

    def deconstruct(self) -> Tuple[Optional[str], str, Any, Dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()  # type: ignore[misc]
        kwargs.setdefault("editable", True)
        kwargs.setdefault("blank", False)
        if kwargs.get("default") is _at_save:
            del kwargs["default"]
        return name, path, [self.sequence, *args], kwargs

    def check(self, **kwargs: Any) -> List[Any]:
        found: List[Any] = super().check(**kwargs)  # type: ignore[misc]
        if self.default not in (models.NOT_PROVIDED, _at_save):
            found.append(checks.Error(obj=self, **_DEFAULT))
        if not self.unique:
            found.append(checks.Warning(obj=self, **_COPIES))
        return found

    def get_pk_value_on_save(self, instance: Any) -> Any:
        bulk = _locals_of(models.QuerySet.bulk_create)  # which asks for one instance after the other
        if bulk is not None:
            numbered(bulk["objs"])
        value = getattr(instance, self.attname)
        return self.take([instance])[0] if value in (None, "") else value

    def take(self, instances: Sequence[Any]) -> List[Any]:
        """A number for each of the instances, in one go."""
        if len(instances) == 1:
            return [getattr(client(), self.method)(self.sequence)]
        if self.method == "next":
            return _take_many(self.sequence, len(instances))
        pipeline = client().pipeline()
        for _ in instances:
            pipeline.next_text(self.sequence)
        return pipeline.execute()

    def request(self) -> str:
        """What a program writes to take a number."""
        return f'client().{self.method}("{self.sequence}")'

    def pre_save(self, instance: Any, add: bool) -> Any:
        value = getattr(instance, self.attname)
        # Django tries an UPDATE first where the key of a new instance is set.
        if value in (None, "") and (add or instance._state.adding or not self.null):
            if not add and instance._state.adding:
                self._check_parent(instance)
            value = self.get_pk_value_on_save(instance)
            setattr(instance, self.attname, value)
        return value

    def _check_parent(self, instance: Any) -> None:
        """Raises ArgumentError if the instance is a new child of a row that is there, which would get another number."""
        meta = self.model._meta
        if type(instance)._meta.concrete_model is self.model:
            return
        save = _locals_of(models.Model.save_base)
        rows = self.model._base_manager.using(save["using"] if save else None)
        if rows.filter(pk=getattr(instance, meta.pk.attname)).exists():
            raise ArgumentError(f"{meta.label}.{self.attname} would be another one than that of the row, of which the instance is a new "
                                "child: give it the values of its parent first")

    def get_db_prep_save(self, value: Any, connection: Any) -> Any:
        is_given = hasattr(value, "as_sql") or value not in (None, "") or (value is None and self.null)
        migration = _asking_migration()
        if is_given and (migration is None or value is None):
            return super().get_db_prep_save(value, connection)  # type: ignore[misc]
        # Not of pre_save(): of a migration, of loaddata, or of an UPDATE of many rows.
        if not is_given and self.model.__module__ != "__fake__":
            raise ArgumentError(f"{self.model._meta.label}.{self.attname} has no number, and only save() and bulk_create() take one: "
                                f"give it a value, as of {self.request()}")
        _check_rows(self, self.sequence, connection, migration)
        return super().get_db_prep_save(value, connection) if is_given else None  # type: ignore[misc]


class IdField(_Taking, models.BigIntegerField):  # type: ignore[misc]
    """A BigIntegerField with the next ID of a sequence."""

    method = "next"


class TextIdField(_Taking, models.CharField):  # type: ignore[misc]
    """A CharField with the next ID of a sequence as its text."""

    method = "next_text"


# --- registers
class _Assigning(_Taking):
    """What both fields of a register share. `key`: the name of the field that the numbers belong to: a text, a UUID or the bytes of
    one, unique, and set before the row is saved."""

    method = "assign"
    part: str

    def __init__(self, sequence: str, *args: Any, key: str, **kwargs: Any) -> None:
        self.key = key
        super().__init__(sequence, *args, **kwargs)

    def deconstruct(self) -> Tuple[Optional[str], str, Any, Dict[str, Any]]:
        name, path, args, kwargs = super().deconstruct()
        return name, path, args, {**kwargs, "key": self.key}

    def check(self, **kwargs: Any) -> List[Any]:
        found = super().check(**kwargs)
        try:
            self._key_field()
        except ArgumentError as error:
            found.append(checks.Error(error.text, obj=self, id="seqd.E002"))
        return found

    def take(self, instances: Sequence[Any]) -> List[Any]:
        keys = [self._key_of(instance) for instance in instances]
        pipeline = client().pipeline()
        for key in keys:
            pipeline.assign(self.sequence, key)
        return [getattr(record, self.part) for record in pipeline.execute()]

    def request(self) -> str:
        return f'client().assign("{self.sequence}", key).{self.part}'

    def _key_of(self, instance: Any) -> Any:
        field = self._key_field()
        value = getattr(instance, field.attname)
        if value in (None, "") or hasattr(value, "as_sql"):
            raise ArgumentError(f'the number of "{self.sequence}" belongs to the field "{self.key}", which is not set: give it a value before '
                                "the row is saved, as by default=uuid.uuid4. The database gives one too late")
        return field.to_python(value)

    def _key_field(self) -> Any:
        meta = self.model._meta
        field = next((one for one in meta.concrete_fields if self.key in (one.name, one.attname)), None)
        if field is None:
            raise ArgumentError(f'{meta.label} has no field "{self.key}", which the numbers of "{self.sequence}" belong to')
        if not field.unique and (field.name,) not in [tuple(one.fields) for one in meta.total_unique_constraints]:
            raise ArgumentError(f'the field "{self.key}" is not unique, and each key has one number of "{self.sequence}": set unique=True')
        return field


class AssignedNumberField(_Assigning, models.BigIntegerField):  # type: ignore[misc]
    """A BigIntegerField with the number of the row's key in a register. A save that is rolled back and tried again with the same key
    gets the same number."""

    part = "number"


class AssignedTextField(_Assigning, models.CharField):  # type: ignore[misc]
    """The same as a CharField with the text that the `format` of the register describes."""

    part = "text"
