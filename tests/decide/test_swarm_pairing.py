"""What two sides are taken to be: items and properties by their names, and a list where that is not clear."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dissensus.decide.dispute.case import Pinned
from dissensus.decide.swarm.opened import Opened
from dissensus.decide.swarm.pairing import Compared, Key, Told, Unclear, compared, key_of, lacking
from dissensus.decide.swarm.survey import FILE_NAME, Survey, core, plain_name, survey

N = range(1, 9)
NOTES = {f"n{n}.txt": f"Order 47{n:02}\nPallets received: {n}\n" for n in N}
LOG = {"log.csv": "booking,order,pallets\n" + "".join(f"{n},47{n:02},{n}\n" for n in N)}


def side(files: Mapping[str, str]) -> Survey:
    media = {"csv": "text/csv", "json": "application/json"}
    return survey(
        Opened(
            {
                sha256(f"{name}{text}".encode()).hexdigest(): Pinned(
                    text=text, name=name, media=media.get(name.rpartition(".")[2], "text/plain")
                )
                for name, text in files.items()
            }
        )
    )


def paired(one: Mapping[str, str], other: Mapping[str, str], told: Told | None = None) -> tuple[Key, list[Compared]]:
    both = side(one), side(other)
    key = key_of(both, told or Told())
    return key, compared(both, key, told or Told())


def table(header: str, *rows: str) -> dict[str, str]:
    return {"t.csv": "\n".join([header, *rows, ""])}


def test_a_word_before_a_name_and_a_column_are_the_same_name() -> None:
    key, found = paired(NOTES, LOG)
    assert key.names == (("order",), ("order",))
    assert list(key.items.values()) == [f"47{n:02}" for n in N]
    assert key.only == ((), ())
    assert key.noun == "order"
    (one,) = found
    assert (one.wanted.attribute, one.wanted.unit, one.wanted.subject) == ("pallets received", "pallet", "order {item}")
    assert one.wanted.names == (), "the column is found without being named"


def test_what_only_one_side_has_is_told() -> None:
    notes = NOTES | {"x.txt": "Order 4799\nPallets received: 3\n", "y.txt": "Order 3\nPallets received: 1\n"}
    log = {"log.csv": LOG["log.csv"] + "99,4755,1\n"}
    key, _ = paired(notes, log)
    assert key.only == (("4799",), ("4755",)), "3 has not the form of what both sides have"
    assert key.both == [f"47{n:02}" for n in N]


@pytest.mark.parametrize(
    ("one", "other", "item", "attribute", "unit"),
    [
        (table("order_no,pallets", "4711,3"), table("Order;Pallets", "4711;3"), "4711", "pallets", "pallet"),
        ({"n.txt": "PO-4711\nReceived: 4 boxes\n"}, table("po_number,received", "PO-4711,4"), "PO-4711",
         "received", "box"),
        ({"i.json": '{"invoice": "INV-1", "total": 10.5}'}, table("invoice no,total", "INV-1,10.50"), "INV-1",
         "total", ""),
        (table("article,stock", "bolt m6,1", "nut,2"), table("Article,Stock counted", "Bolt M6,1", "Nut,2"), "bolt m6",
         "stock counted", ""),
        ({"n.json": '{"order": 4711, "pallets": {"received": 4}}'}, table("order,received", "4711,4"), "4711",
         "pallets received", "pallet"),
    ],
)  # fmt: skip
def test_names_are_found_in_every_kind_of_document(
    one: Mapping[str, str], other: Mapping[str, str], item: str, attribute: str, unit: str
) -> None:
    key, found = paired(one, other)
    assert item in {value.casefold() if item.islower() else value for value in key.items.values()}
    assert [(each.wanted.attribute, each.wanted.unit) for each in found] == [(attribute, unit)]


def test_several_properties_are_compared_each_with_its_own() -> None:
    notes = {name: f"{text}Pallets ordered: 12\nWeight: 480 kg\n" for name, text in NOTES.items()}
    log = {"log.csv": "order,ordered,received,dock\n" + "".join(f"47{n:02},12,{n},3\n" for n in N)}
    _, found = paired(notes, log)
    assert {one.wanted.attribute for one in found} == {"pallets ordered", "pallets received"}


def test_a_name_goes_before_a_unit() -> None:
    notes = {name: f"{text}Ordered: 12 pallets\n" for name, text in NOTES.items()}
    _, found = paired(notes, LOG)
    assert [one.wanted.attribute for one in found] == ["pallets received"], "Ordered shares only the unit with pallets"


def test_what_few_items_state_is_not_compared_by_itself() -> None:
    notes = NOTES | {"n1.txt": NOTES["n1.txt"] + "Boxes damaged: 1\n"}
    log = {"log.csv": "order,pallets,damaged boxes\n" + "".join(f"47{n:02},{n},0\n" for n in N)}
    _, found = paired(notes, log)
    assert [one.wanted.attribute for one in found] == ["pallets received"]
    _, found = paired(notes, log, Told(attributes=(("boxes damaged", "boxes damaged"),)))
    assert [one.wanted.attribute for one in found] == ["boxes damaged"]
    assert list(lacking(found)) == []


UNCLEAR = [
    ({f"n{n}.txt": f"Delivery note DN-{n}\nOrder 47{n:02}\nPallets received: {n}\n" for n in N},
     {"log.csv": "note,order,pallets\n" + "".join(f"DN-{n},47{n:02},{n}\n" for n in N)}, "--key NAME[=OTHER]",
     "Several names"),
    (NOTES, {"log.csv": "order,pallets\n5700,1\n5701,2\n"}, "--key NAME", "No name stands on both sides"),
    ({name: text.replace("received", "ordered") + text.split("\n")[1] + "\n" for name, text in NOTES.items()}, LOG,
     '--attribute "NAME=OTHER"', "Several properties"),
    (NOTES, {"log.csv": LOG["log.csv"].replace("pallets", "qty")}, '--attribute "NAME=OTHER"', "No property"),
    (table("weight,price", "4711,1", "4712,2"), table("mass,cost", "4711,1", "4712,2"), "--key NAME", "No name"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other", "flag", "why"), UNCLEAR)
def test_what_is_not_clear_is_listed_with_its_flag(
    one: Mapping[str, str], other: Mapping[str, str], flag: str, why: str
) -> None:
    with pytest.raises(Unclear, match=why) as caught:
        paired(one, other)
    assert caught.value.flag == flag
    assert caught.value.candidates


def test_the_user_says_what_is_not_clear() -> None:
    one, other, _, _ = UNCLEAR[0]
    key, _ = paired(one, other, Told(key=("order", "order")))
    assert key.names == (("order",), ("order",))
    key, _ = paired(one, other, Told(key=("note", "note")))
    assert list(key.items.values()) == [f"DN-{n}" for n in N]
    one, other, _, _ = UNCLEAR[3]
    _, found = paired(one, other, Told(attributes=(("Pallets received", "qty"),), unit="pallet", as_of="2026-03"))
    (each,) = found
    assert (each.wanted.attribute, each.wanted.names) == ("pallets received", ("qty",))
    assert (each.wanted.unit, each.wanted.as_of) == ("pallet", "2026-03")
    assert all(each.sides)
    _, found = paired(one, other, Told(attributes=(("weight", "mass"),)))
    assert list(lacking(found)) == [("A", "weight"), ("B", "mass")]
    with pytest.raises(Unclear, match="Nothing in A is called 'ticket'"):
        paired(one, other, Told(key=("ticket", "order")))
    key, _ = paired(NOTES, LOG, Told(items=("4702", "4701", "4999")))
    assert list(key.items.values()) == ["4701", "4702"]


def test_numbers_that_happen_to_be_equal_are_no_names() -> None:
    one = table("order,pallets,weight", *(f"47{n:02},{n},{n * 480}" for n in N))
    other = table("order,pallets,price", *(f"47{n:02},{n},{n * 480}" for n in N))
    key, found = paired(one, other)
    assert key.names == (("order",), ("order",))
    assert [each.wanted.attribute for each in found] == ["pallets"]


def test_names_of_files_are_names_if_there_are_no_others() -> None:
    bare = {f"order-47{n:02}.txt": f"Pallets received: {n}\n" for n in N}
    key, _ = paired(bare, LOG)
    assert key.names == ((FILE_NAME,), ("order",))
    key, _ = paired({name: f"Order 47{n:02}\n{text}" for n, (name, text) in zip(N, bare.items(), strict=True)}, LOG)
    assert key.names == (("order",), ("order",))


def test_days_and_columns_of_a_table_are_found() -> None:
    found = side(
        {
            "log.csv": "booking,order,pallets,booked_at,due date\nB1,4711,3,2026-03-02T09:00,2026-05-01\n",
            "n.txt": "Order 4711\nDate: 2026-03-09\nDue: 2027-01-01\n",
        }
    )
    assert found.days is not None
    assert [day.isoformat() for day in found.days] == ["2026-03-02", "2026-03-09"]
    assert list(found.keys.values()) == ["booking"]
    assert list(found.times.values()) == ["booked_at"]


def test_days_of_json_and_its_words_are_no_numbers() -> None:
    found = side({"n.json": '{"order": 4711, "date": "2026-03-02", "pallets": "about 3", "lines": [1, 2]}'})
    assert found.days is not None
    assert found.days[0] == found.days[1]
    assert found.days[0].isoformat() == "2026-03-02"
    assert found.counted == ()
    assert side({"t.csv": "order,pallets\n"}).called == {}


def test_names_are_brought_to_one_form() -> None:
    assert [core(name) for name in ("Order No.", "order_id", "ORDERS", "no", "Purchase Order")] == [
        "order", "order", "order", "no", "purchase order",
    ]  # fmt: skip
    assert plain_name("Qty_received (boxes)") == "qty received boxes"


_TEXTS = st.text(st.sampled_from("Order 47received:,;pallets\n\t{}[]\"'-.DN#"), max_size=80)


@settings(max_examples=200)
@given(st.lists(_TEXTS, min_size=1, max_size=3), st.sampled_from(["txt", "csv", "json"]))
def test_any_documents_are_surveyed_and_an_order_of_files_changes_nothing(texts: list[str], kind: str) -> None:
    files = {f"f{n}.{kind}": text for n, text in enumerate(texts)}
    found, turned = side(files), side(dict(reversed(files.items())))
    assert {name: set(one.where) for name, one in found.called.items()} == {
        name: set(one.where) for name, one in turned.called.items()
    }
    assert sorted(sorted(one.names.items()) for one in found.counted) == sorted(
        sorted(one.names.items()) for one in turned.counted
    )
