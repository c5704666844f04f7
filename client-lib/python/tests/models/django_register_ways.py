"""Every way of Django to write rows whose numbers are those of a register, with real numbers and an SQLite database."""

import json
import os
import sys
import types
import uuid

import django
from django.conf import settings
from outcomes import NONE, collector, observe

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}, SEQD_SOCKET=os.environ["SEQD_SOCKET"], USE_TZ=True,
    SECRET_KEY="of a test", ROOT_URLCONF="urls", DEFAULT_AUTO_FIELD="django.db.models.BigAutoField", INSTALLED_APPS=[
        "django.contrib.admin", "django.contrib.auth", "django.contrib.contenttypes", "django.contrib.messages", "django.contrib.sessions",
        "shop"])
shop = types.ModuleType("shop")
shop.__path__ = [os.environ["SCRATCH"]]
sys.modules["shop"] = shop
django.setup()

# pylint: disable=wrong-import-position
from django.contrib import admin  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import DatabaseError, connection, migrations, models, transaction  # noqa: E402
from django.db.migrations.state import ProjectState  # noqa: E402
from django.test import RequestFactory  # noqa: E402

from seqd.django import AssignedNumberField, AssignedTextField, client, numbered  # noqa: E402

THE_SAME = "the same number"


class Bill(models.Model):
    uid = models.UUIDField(primary_key=True, default=uuid.uuid4)
    number = AssignedNumberField("bills", key="uid", unique=True)
    text = AssignedTextField("bills", key="uid", max_length=40, unique=True)
    note = models.CharField(max_length=40, unique=True, null=True)

    class Meta:
        app_label = "shop"


class Named(models.Model):
    """Its key is the program's own."""

    name = models.CharField(max_length=40, primary_key=True)
    text = AssignedTextField("bills", key="name", max_length=40, unique=True)
    note = models.CharField(max_length=40, default="")

    class Meta:
        app_label = "shop"


class Numbered(models.Model):
    number = AssignedNumberField("bills", key="id", unique=True)

    class Meta:
        app_label = "shop"


class Keyed(models.Model):
    """Its key is an integer of the program's own."""

    id = models.BigIntegerField(primary_key=True)
    number = AssignedNumberField("bills", key="id", unique=True)

    class Meta:
        app_label = "shop"


class NotUnique(models.Model):
    uid = models.UUIDField(default=uuid.uuid4)
    number = AssignedNumberField("bills", key="uid", unique=True)

    class Meta:
        app_label = "shop"


class NoField(models.Model):
    number = AssignedNumberField("bills", key="uid", unique=True)

    class Meta:
        app_label = "shop"


class Constrained(models.Model):
    """Its key is unique by a constraint."""

    uid = models.UUIDField(default=uuid.uuid4)
    number = AssignedNumberField("bills", key="uid", unique=True)

    class Meta:
        app_label = "shop"
        constraints = [models.UniqueConstraint(fields=["uid"], name="one_uid")]


class SpecialBill(Bill):
    extra = AssignedNumberField("bills", key="uid", unique=True)

    class Meta:
        app_label = "shop"


MODELS = [Bill, Named, Numbered, Keyed, NotUnique, NoField, Constrained, SpecialBill]
WAYS, outside = collector()


class Undo(Exception):
    pass


def way(name):
    """The way, on empty tables and undone afterwards."""
    def put(function):
        def run():
            try:
                with transaction.atomic():
                    found = function()
                    found = found if isinstance(found, str) else [list(column) for column in found]
                    raise Undo
            except Undo:
                return found

        outside(name)(run)
    return put


def columns(model, *names):
    return [list(model._base_manager.values_list(name, flat=True)) for name in names]


def bills():
    for number, text in Bill.objects.values_list("number", "text"):
        assert str(number) == text or text.startswith("own")
    return columns(Bill, "number", "text")


def highest():
    return len(list(client().records("bills")))


@way("Model().save()")
def save():
    for _ in range(5):
        one = Bill()
        assert one.number is None
        one.save()
        one.save()
    Constrained().save()
    return bills()


@way("Model.objects.create()")
def create():
    for _ in range(5):
        Bill.objects.create()
    return bills()


@way("a save() that failed, again")
def save_again():
    Bill.objects.create(note="taken")
    found = []
    uid = str(uuid.uuid4()).upper()  # as a form has it
    for note in ("taken", "free"):
        one = Bill(uid=uid, note=note)
        try:
            with transaction.atomic():
                one.save()
        except DatabaseError:
            pass
        found.append((one.number, one.text))
    assert found[0] == found[1]
    return THE_SAME


@way("a transaction that was rolled back, again with the key")
def again():
    one, found = Bill(), []
    for rolled_back in (True, False):
        try:
            with transaction.atomic():
                other = Bill(uid=one.uid)
                other.save()
                found.append(bills())
                if rolled_back:
                    raise Undo
        except Undo:
            pass
    assert found[0] == found[1]
    return THE_SAME


@way("save() over a row that has the key already")
def over():
    Named(name="over").save()
    first = columns(Named, "text")
    Named(name="over", note="x").save()
    assert columns(Named, "text") == first and columns(Named, "note") == [["x"]]
    return THE_SAME


@way("save() of a row that has no number yet")
def save_empty():
    with connection.cursor() as cursor:
        cursor.execute("INSERT INTO shop_named (name, text, note) VALUES ('a', '', '')")
    for one in Named.objects.all():
        one.save()
    Named(name="b").save()
    return columns(Named, "text")


@way("bulk_create()")
def bulk_create():
    Bill.objects.bulk_create([Bill() for _ in range(500)])
    return bills()


@way("bulk_create(numbered())")
def bulk_create_numbered():
    Bill.objects.bulk_create(numbered(Bill() for _ in range(50)))
    return bills()


@way("bulk_create(ignore_conflicts=True)")
def bulk_ignore():
    Bill.objects.create(note="taken")
    Bill.objects.bulk_create([Bill(note="taken"), Bill(note="free"), Bill()], ignore_conflicts=True)
    assert Bill.objects.count() == 3
    return bills()


if django.VERSION >= (4, 1):
    @way("bulk_create(update_conflicts=True)")
    def bulk_update_conflicts():
        Bill.objects.create(note="taken")
        Bill.objects.bulk_create([Bill(note="taken"), Bill(note="free")], update_conflicts=True, unique_fields=["note"],
                                 update_fields=["note"])
        assert Bill.objects.count() == 2
        return bills()


@way("get_or_create()")
def get_or_create():
    before = highest()
    for note in "aab":
        Bill.objects.get_or_create(note=note)
    assert Bill.objects.count() == 2 and highest() == before + 2
    return bills()


@way("update_or_create()")
def update_or_create():
    before = highest()
    for note in "aab":
        Bill.objects.update_or_create(note=note, defaults={"note": note})
    assert Bill.objects.count() == 2 and highest() == before + 2
    return bills()


@way("a value of one's own")
def own():
    for number in (1_000_071, 1_000_072):
        Bill.objects.create(number=number, text=f"own {number}")
    return bills()


@way("an instance without its key")
def no_key():
    Constrained(uid=None).save()
    return columns(Constrained, "number")


@way("bulk_create() of which one has no key")
def one_without_key():
    before = highest()
    try:
        Constrained.objects.bulk_create([Constrained(), Constrained(uid=None)])
    finally:
        assert highest() == before
    return columns(Constrained, "number")


@way("a key that the database makes")
def key_of_database():
    Numbered().save()
    return columns(Numbered, "number")


@way("a key that is an integer")
def key_by_number():
    Keyed(id=7).save()
    return columns(Keyed, "number")


@way("a key that is not unique")
def key_not_unique():
    assert {error.id for error in NotUnique.check()} == {"seqd.E002"}
    assert not Bill.check() and not Named.check() and not Constrained.check()
    NotUnique().save()
    return columns(NotUnique, "number")


@way("a key that is no field")
def key_no_field():
    assert {error.id for error in NoField.check()} == {"seqd.E002"}
    NoField().save()
    return columns(NoField, "number")


@way("two rows with one key")
def one_key():
    one = Bill.objects.create()
    Bill(uid=one.uid).save(force_insert=True)
    return bills()


@way("update(number=\"\") or update(number=None)")
def update_empty():
    Bill.objects.create()
    Bill.objects.update(text="")
    return bills()


@way("bulk_update() of an empty number")
def bulk_update_empty():
    one = Bill.objects.create()
    one.text = ""
    Bill.objects.bulk_update([one], ["text"])
    return bills()


@way("a copy with another key")
def copy_unique():
    one = Bill.objects.create()
    one.pk, one._state.adding = uuid.uuid4(), True
    one.save()
    return bills()


@way("a copy with another key and an empty number")
def copy_emptied():
    one = Bill.objects.create()
    one.pk, one.number, one.text, one._state.adding = uuid.uuid4(), None, "", True
    one.save()
    return bills()


@way("a child of multi-table inheritance")
def child():
    SpecialBill.objects.create()
    SpecialBill().save()
    Bill.objects.create()
    assert columns(SpecialBill, "number") == columns(SpecialBill, "extra")
    return [*bills(), *columns(SpecialBill, "extra")]


@way("a form of the admin")
def admin_form():
    for note in "ab":
        request = RequestFactory().post("/", {"_save": "Save", "note": note, "uid": str(uuid.uuid4())})
        request._messages = type("Nowhere", (), {"add": lambda *_, **__: None})()
        site = admin.ModelAdmin(Bill, admin.site)
        form = site.get_form(request)(request.POST)
        assert form.is_valid(), form.errors
        site.save_model(request, site.save_form(request, form, change=False), form, change=False)
    return bills()


def load(*rows):
    path = os.path.join(os.environ["SCRATCH"], "rows.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"model": "shop.bill", "pk": str(uuid.uuid4()), "fields": fields} for fields in rows], file)
    call_command("loaddata", path, verbosity=0)


@way("loaddata, with the numbers")
def fixture():
    load({"number": 1_000_071, "text": "own 71"}, {"number": 1_000_072, "text": "own 72"})
    return bills()


@way("loaddata, without a number")
def fixture_without_number():
    load({"text": "own 71"})
    return bills()


# --- migrations
def migrate(rows, *operations):
    """A table with so many rows, and what becomes of it by the operations. The model as it is then."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS shop_moved")
    state = ProjectState()
    for number, operation in enumerate([migrations.CreateModel("Moved", [("uid", models.UUIDField(primary_key=True, default=uuid.uuid4))]),
                                        *operations]):
        after = state.clone()
        operation.state_forwards("shop", after)
        with connection.schema_editor() as editor:
            operation.database_forwards("shop", editor, state, after)
        state = after
        if number == 0:
            model = state.apps.get_model("shop", "Moved")
            model.objects.bulk_create([model() for _ in range(rows)])
    return state.apps.get_model("shop", "Moved")


def field(**options):
    return AssignedNumberField("bills", key="uid", **options)


def with_new(model):
    for _ in range(2):
        model.objects.create()
    return columns(model, "number")


def give_numbers(apps, _):
    for one in apps.get_model("shop", "Moved").objects.filter(number=None):
        one.number = client().assign("bills", one.uid).number
        one.save()


@outside("AddField to a table with rows")
def add_field():
    return with_new(migrate(3, migrations.AddField("moved", "number", field())))


@outside("AddField to a table with rows, with makemigrations' one-off default")
def one_off():
    return columns(migrate(3, migrations.AddField("moved", "number", field(default=1), preserve_default=False)), "number")


@outside("AddField to a table without rows")
def add_field_empty():
    return with_new(migrate(0, migrations.AddField("moved", "number", field())))


@outside("AddField to a table with rows, null=True")
def add_field_null():
    model = migrate(3, migrations.AddField("moved", "number", field(null=True)))
    assert columns(model, "number") == [[None] * 3] and len([one for one in with_new(model)[0] if one is not None]) == 2
    return NONE


@outside("null=True, RunPython, null=False")
def numbered_rows():
    return with_new(migrate(3, migrations.AddField("moved", "number", field(null=True)), migrations.RunPython(give_numbers),
                            migrations.AlterField("moved", "number", field())))


if __name__ == "__main__":
    with connection.schema_editor() as schema:
        for one_model in MODELS:
            schema.create_model(one_model)
    observe(WAYS, [(DatabaseError, "the database")], django.__version__)
    connection.close()
