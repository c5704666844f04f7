"""Every way of Django to write rows, with real numbers and an SQLite database."""

import atexit
import json
import os
import sys
import types
from functools import partial

import django
from django.conf import settings
from outcomes import NONE, collector, observe

import seqd

settings.configure(
    DATABASES={name: {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"} for name in ("default", "other")}, SEQD_SOCKET=os.environ["SEQD_SOCKET"], USE_TZ=True,
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
from django.db import DatabaseError, connection, connections, migrations, models, transaction  # noqa: E402
from django.db.migrations.state import ProjectState  # noqa: E402
from django.test import RequestFactory  # noqa: E402

from seqd.django import IdField, NextId, NextText, TextIdField, check_defaults, client, numbered  # noqa: E402


class Order(models.Model):
    id = IdField("orders", primary_key=True)
    number = TextIdField("invoices", max_length=40, unique=True)
    note = models.CharField(max_length=40, unique=True, null=True)

    class Meta:
        app_label = "shop"


class Plain(models.Model):
    """Its number is neither a key nor unique."""

    number = IdField("numbers")
    text = TextIdField("invoices", max_length=40)

    class Meta:
        app_label = "shop"


class Named(models.Model):
    """Its key is the program's own, so Django tries an UPDATE first."""

    name = models.CharField(max_length=40, primary_key=True)
    text = TextIdField("invoices", max_length=40, unique=True)

    class Meta:
        app_label = "shop"


class Loose(models.Model):
    number = IdField("loose", null=True)
    text = TextIdField("invoices", max_length=40, null=True)

    class Meta:
        app_label = "shop"


class Ticket(models.Model):
    id = models.BigIntegerField(primary_key=True, default=NextId("tickets"))
    text = models.CharField(max_length=40, default=NextText("invoices"))
    note = models.CharField(max_length=40, default="")

    class Meta:
        app_label = "shop"


class OrderProxy(Order):
    class Meta:
        app_label = "shop"
        proxy = True


class Special(Order):
    """A table of its own, beside that of its parent."""

    extra = IdField("extras", unique=True)

    class Meta:
        app_label = "shop"


class Folder(models.Model):
    number = IdField("folders", unique=True)
    name = models.CharField(max_length=40, default="")

    class Meta:
        app_label = "shop"


class SharedFolder(Folder):
    class Meta:
        app_label = "shop"


MODELS = [Order, Plain, Named, Loose, Ticket, Special, Folder, SharedFolder]
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


def orders():
    return columns(Order, "id", "number")


@way("Model().save()")
def save():
    for _ in range(5):
        one = Order()
        assert one.id is None
        one.save()
        one.save()
    return orders()


@way("Model.objects.create()")
def create():
    for _ in range(5):
        Order.objects.create()
    return orders()


@way("a save() that failed, again")
def save_again():
    Order.objects.create(note="taken")
    one = Order(note="taken")
    for note in ("taken", "free"):
        one.note = note
        try:
            with transaction.atomic():
                one.save()
        except DatabaseError:
            first = (one.id, one.number)
    assert (one.id, one.number) == first
    return orders()


@way("save() of a model whose key is its own")
def named():
    for name in "abc":
        Named(name=name).save()
    return columns(Named, "text")


@way("save() over a row that has the key already")
def named_over():
    Named(name="a").save()
    Named(name="b").save()
    Named(name="a").save()
    return columns(Named, "text")


@way("save() of a row that has no number yet")
def save_empty():
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO shop_named (name, text) VALUES (%s, %s)", [("a", "")])
    for one in Named.objects.all():
        one.save()
    Named(name="b").save()
    return columns(Named, "text")


@way("bulk_create()")
def bulk_create():
    Order.objects.bulk_create([Order() for _ in range(500)])
    return orders()


@way("bulk_create(numbered())")
def bulk_create_numbered():
    Order.objects.bulk_create(numbered(Order() for _ in range(500)))
    return orders()


@way("bulk_create(ignore_conflicts=True)")
def bulk_ignore():
    Order.objects.create(note="taken")
    Order.objects.bulk_create([Order(note="taken"), Order(note="free"), Order()], ignore_conflicts=True)
    assert Order.objects.count() == 3
    return orders()


if django.VERSION >= (4, 1):
    @way("bulk_create(update_conflicts=True)")
    def bulk_update_conflicts():
        Order.objects.create(note="taken")
        Order.objects.bulk_create([Order(note="taken"), Order(note="free")], update_conflicts=True, unique_fields=["note"],
                                  update_fields=["note"])
        assert Order.objects.count() == 2
        return orders()


@way("get_or_create()")
def get_or_create():
    for note in "aab":
        Order.objects.get_or_create(note=note)
    assert Order.objects.count() == 2
    return orders()


@way("update_or_create()")
def update_or_create():
    for note in "aab":
        Order.objects.update_or_create(note=note, defaults={"note": note})
    assert Order.objects.count() == 2
    return orders()


@way("a value of one's own")
def own():
    Order.objects.create(id=71, number="own 71")
    Order.objects.create(id=72, number="own 72")
    assert orders() == [[71, 72], ["own 71", "own 72"]]
    return orders()


@way("a value of one's own that a row has already")
def own_twice():
    Order.objects.create(id=71, number="own 71")
    Order(id=71, number="own 72").save()
    return orders()


@way("update(number=\"\") or update(number=None)")
def update_empty():
    Order.objects.create()
    Order.objects.update(number="")
    return orders()


@way("bulk_update() of an empty number")
def bulk_update_empty():
    one = Order.objects.create()
    one.number = ""
    Order.objects.bulk_update([one], ["number"])
    return orders()


@way("update(number=None), null=True")
def update_null():
    Loose.objects.create()
    Loose.objects.update(number=None, text=None)
    return columns(Loose, "number", "text")


@way("a copy with pk=None of a row with a unique number")
def copy_unique():
    one = Order.objects.create()
    one.pk = None
    one._state.adding = True
    one.save()
    return orders()


@way("a copy with pk=None and an empty number")
def copy_emptied():
    one = Order.objects.create()
    one.pk, one.number = None, ""
    one._state.adding = True
    one.save()
    return orders()


@way("a copy with pk=None of a row whose number is not unique")
def copy_plain():
    assert {warning.id for warning in Plain.check()} == {"seqd.W001"}
    assert not Order.check() and not Special.check()
    one = Plain.objects.create()
    one.pk = None
    one._state.adding = True
    one.save()
    (first, second), _ = columns(Plain, "number", "text")
    assert first == second
    return "the original's number"


@way("a default of one's own: IdField(default=7)")
def own_default():
    class Defaulted(models.Model):
        number = IdField("numbers", default=7)

        class Meta:
            app_label = "elsewhere"

    assert "seqd.E001" in {error.id for error in Defaulted.check()} and "seqd.E001" not in {error.id for error in Order.check()}
    return "the default"


@way("a proxy")
def proxy():
    OrderProxy.objects.create()
    OrderProxy.objects.bulk_create([OrderProxy(), OrderProxy()])
    Order.objects.create()
    return orders()


@way("a child of multi-table inheritance")
def child():
    Special.objects.create()
    Special().save()
    Order.objects.create()
    return [*orders(), *columns(Special, "pk", "extra")]


@way("a child of multi-table inheritance whose parent is there")
def child_of_parent():
    parent = Order.objects.create()
    one = Special(order_ptr=parent)
    one.save_base(raw=True)
    return columns(Special, "extra")


@way("a child over the row of its parent, whose number is no key")
def child_over_parent():
    parent = Folder.objects.create(name="a")
    one = SharedFolder(folder_ptr=parent)
    try:
        with transaction.atomic():
            one.save()
    finally:
        assert columns(Folder, "number", "name") == [[parent.number], ["a"]]
    return columns(Folder, "number")


@way("the same in another database than the router's")
def child_in_other():
    with transaction.atomic(using="other"):
        parent = Folder(name="a")
        parent.save(using="other")
        try:
            with transaction.atomic(using="other"):
                SharedFolder(folder_ptr_id=parent.pk).save(using="other")
        finally:
            assert list(Folder.objects.using("other").values_list("number", "name")) == [(parent.number, "a")]
            transaction.set_rollback(True, using="other")
    return columns(Folder, "number")


@way("a child in a database that lacks its parent, which another database has")
def child_of_other():
    parent = Folder.objects.create(name="a")
    with transaction.atomic(using="other"):
        SharedFolder(folder_ptr_id=parent.pk).save(using="other")
        found = list(Folder.objects.using("other").values_list("number", flat=True))
        transaction.set_rollback(True, using="other")
    return [found + columns(Folder, "number")[0]]


@way("the same with the parent's number")
def child_with_number():
    parent = Folder.objects.create(name="a")
    SharedFolder(folder_ptr=parent, number=parent.number, name="a").save()
    SharedFolder(id=parent.id + 1, name="b").save()
    assert columns(Folder, "number")[0][0] == parent.number
    return columns(Folder, "number")


@way("a copy with pk=None, default=NextId()")
def copy_default():
    warned = {warning.obj.name for warning in check_defaults(None) if warning.id == "seqd.W001"}
    assert "text" in warned and "id" not in warned, "a key is unique"
    one = Ticket.objects.create()
    one.pk, one._state.adding = client().next("tickets"), True
    one.save()
    first, second = columns(Ticket, "text")[0]
    assert first == second
    return "the original's number"


@way("default=NextId(), by save() and bulk_create()")
def defaults():
    Ticket().save()
    Ticket.objects.bulk_create([Ticket() for _ in range(3)])
    return columns(Ticket, "id", "text")


def by_admin(model, **data):
    request = RequestFactory().post("/", {"_save": "Save", **data})
    request._messages = type("Nowhere", (), {"add": lambda *_, **__: None})()
    site = admin.ModelAdmin(model, admin.site)
    form = site.get_form(request)(request.POST)
    assert form.is_valid(), form.errors
    one = site.save_form(request, form, change=False)
    site.save_model(request, one, form, change=False)


@way("a form of the admin")
def admin_form():
    by_admin(Order, note="a")
    by_admin(Order, note="b")
    return orders()


@way("a form of the admin, default=NextId()")
def admin_default():
    by_admin(Ticket, id="71", text="own", note="x")
    Ticket.objects.create(note="y")
    return columns(Ticket, "id", "text")


def load(model, *rows):
    path = os.path.join(os.environ["SCRATCH"], "rows.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump([{"model": f"shop.{model}", **row} for row in rows], file)
    call_command("loaddata", path, verbosity=0)


@way("loaddata, with the numbers")
def fixture():
    load("order", {"pk": 71, "fields": {"number": "own 71"}}, {"pk": 72, "fields": {"number": "own 72"}})
    return orders()


@way("loaddata, without a key")
def fixture_without_key():
    load("order", {"pk": None, "fields": {"number": "own 71"}}, {"fields": {"number": "own 72"}})
    return orders()


@way("loaddata, without a TextIdField")
def fixture_without_text():
    load("order", {"pk": 71, "fields": {}})
    return orders()


@way("loaddata, without an IdField")
def fixture_without_id():
    load("plain", {"pk": 71, "fields": {"text": "own 71"}})
    return columns(Plain, "number", "text")


@way("loaddata, without a field that may be NULL")
def fixture_without_null():
    load("loose", {"pk": 71, "fields": {"text": None}})
    return columns(Loose, "number", "text")


@way("loaddata, default=NextId()")
def fixture_default():
    load("ticket", {"pk": 71, "fields": {}}, {"pk": 72, "fields": {}})
    return columns(Ticket, "id", "text")


# --- migrations
def migrate(rows, *operations):
    """A table with so many rows, and what becomes of it by the operations. The model as it is then."""
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS shop_moved")
    first = migrations.CreateModel("Moved", [("id", models.BigAutoField(primary_key=True)), ("note", models.CharField(max_length=40))])
    state = ProjectState()
    for number, operation in enumerate([first, *operations]):
        after = state.clone()
        operation.state_forwards("shop", after)
        with connection.schema_editor() as editor:
            operation.database_forwards("shop", editor, state, after)
        state = after
        if number == 0:
            model = state.apps.get_model("shop", "Moved")
            model.objects.bulk_create([model(note="old") for _ in range(rows)])
    return state.apps.get_model("shop", "Moved")


def give_numbers(apps, _):
    for one in apps.get_model("shop", "Moved").objects.filter(number=None):
        one.number = client().next("numbers")
        one.save()


FIELDS = {
    "IdField": lambda **options: IdField("numbers", **options),
    "TextIdField": lambda **options: TextIdField("invoices", max_length=40, **options),
    "default=NextId()": lambda **options: models.BigIntegerField(default=NextId("numbers"), **options),
    "default=NextText()": lambda **options: models.CharField(max_length=40, default=NextText("invoices"), **options),
}


def migration_ways(name, make):
    def after(model):
        for _ in range(2):
            model.objects.create(note="new")
        return columns(model, "number")

    @outside(f"AddField to a table with rows: {name}")
    def _():
        return after(migrate(3, migrations.AddField("moved", "number", make())))

    @outside(f"AddField to a table without rows: {name}")
    def _():
        return after(migrate(0, migrations.AddField("moved", "number", make())))

    @outside(f"AddField to a table with rows, null=True: {name}")
    def _():
        model = migrate(3, migrations.AddField("moved", "number", make(null=True)))
        (found,) = columns(model, "number")
        assert after(model)[0][:3] == found == [None, None, None] and None not in columns(model, "number")[0][3:]
        return NONE

    @outside(f"null=True, RunPython, null=False: {name}")
    def _():
        return after(migrate(3, migrations.AddField("moved", "number", make(null=True)), migrations.RunPython(give_numbers),
                             migrations.AlterField("moved", "number", make())))

    @outside(f"null=True, null=False with rows that have no number: {name}")
    def _():
        return after(migrate(3, migrations.AddField("moved", "number", make(null=True)), migrations.AlterField("moved", "number", make())))


def deep(levels):
    """A default that is called some functions deep."""
    return deep(levels - 1) if levels > 0 else NextId("numbers")()


ONE_OFF = {"IdField": 1, "TextIdField": "one"}


@outside("AddField to a table with rows, with makemigrations' one-off default")
def one_off_add():
    found = []
    for kind, value in ONE_OFF.items():
        try:
            model = migrate(3, migrations.AddField("moved", "number", FIELDS[kind](default=value), preserve_default=False))
        except seqd.ArgumentError as error:
            found.append(error)
        else:
            return columns(model, "number")
    raise found[0]


@outside("null=True, null=False with makemigrations' one-off default")
def one_off_alter():
    return columns(migrate(3, migrations.AddField("moved", "number", FIELDS["IdField"](null=True)),
                           migrations.AlterField("moved", "number", FIELDS["IdField"](default=1), preserve_default=False)), "number")


@outside("AddField to a table with rows, null=True, with a constant default")
def constant_default():
    return columns(migrate(3, migrations.AddField("moved", "number", FIELDS["IdField"](null=True, default=1))), "number")


@outside("the same where the database spells the table's name otherwise")
def one_off_case():
    spell = migrations.RunSQL(["ALTER TABLE shop_moved RENAME TO shop_other", 'ALTER TABLE shop_other RENAME TO "Shop_Moved"'])
    return columns(migrate(3, spell, migrations.AddField("moved", "number", FIELDS["IdField"](default=1), preserve_default=False)), "number")


class Sub(IdField):
    """Its method is between the migration and that of IdField."""

    def get_db_prep_save(self, value, connection):  # pylint: disable=redefined-outer-name
        return super().get_db_prep_save(value, connection)


@outside("the same with a field of one's own that is an IdField")
def one_off_sub():
    return columns(migrate(3, migrations.AddField("moved", "number", Sub("numbers", default=1), preserve_default=False)), "number")


if django.VERSION >= (5, 0):
    @outside("AddField with db_default=: IdField")
    def database_default():
        return columns(migrate(3, migrations.AddField("moved", "number", FIELDS["IdField"](db_default=7))), "number")

    @outside("AddField with db_default=: default=NextId()")
    def database_default_next():
        assert columns(migrate(3, migrations.AddField("moved", "number", FIELDS["default=NextId()"](db_default=7))), "number") == [[7, 7, 7]]
        return "the default"


@outside("sqlmigrate of AddField before the table is there")
def printed():
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS shop_moved")
    state = ProjectState()
    migrations.CreateModel("Moved", [("id", models.BigAutoField(primary_key=True))]).state_forwards("shop", state)
    for number, field in enumerate((FIELDS["IdField"](default=1), FIELDS["default=NextId()"]())):
        operation, after = migrations.AddField("moved", f"number{number}", field), state.clone()
        operation.state_forwards("shop", after)
        with connection.schema_editor(collect_sql=True) as editor:
            operation.database_forwards("shop", editor, state, after)
        assert editor.collected_sql
    return "the statements"


@outside("AddField to a table without rows, with makemigrations' one-off default")
def one_off_empty():
    model = migrate(0, migrations.AddField("moved", "number", FIELDS["IdField"](default=1), preserve_default=False))
    for _ in range(2):
        model.objects.create(note="new", number=None)
    return columns(model, "number")


@outside("AddField to a table with rows, a function that calls NextId()")
def deep_default():
    return columns(migrate(3, migrations.AddField("moved", "number", models.BigIntegerField(default=partial(deep, 9)))), "number")


@outside("null=True, null=False with rows whose text is empty: TextIdField")
def empty_text():
    def empty(apps, _):
        apps.get_model("shop", "Moved").objects.update(number="")
    return columns(migrate(3, migrations.AddField("moved", "number", models.CharField(max_length=40, null=True)), migrations.RunPython(empty),
                           migrations.AlterField("moved", "number", FIELDS["TextIdField"]())), "number")


for kind, maker in FIELDS.items():
    migration_ways(kind, maker)


if __name__ == "__main__":
    for one_connection in connections.all():
        atexit.register(one_connection.close)
        with one_connection.schema_editor() as schema:
            for one_model in MODELS:
                schema.create_model(one_model)
    observe(WAYS, [(DatabaseError, "the database")], django.__version__)
