#!/usr/bin/python3
"""Writes answers of DynamoDB as seeds: two bytes that choose the request, then a status and a body a line.

Usage: dynamo_seeds.py TARGET FOLDER
"""
import json
import pathlib
import sys

SLOT = "07" * 16 + ":orders"
TOKEN = "5e9d1ea2" + "01" * 12


def item(**attributes) -> dict:
    return {"Item": {"_id": {"S": "orders"}, **attributes}}


def record(state: str, token: str = TOKEN, end: int = 21) -> dict:
    return {"seqd_lease:" + SLOT: {"M": {"token": {"S": token}, "state": {"S": state}, "count": {"N": "10"}, "at": {"N": "1800000000"}}},
            "seqd_end:" + SLOT: {"N": str(end)}}


def number(state: str, key: str = "", formers: int = 0) -> dict:
    stamp = {"M": {"at": {"N": "1"}, "by": {"S": "x"}}}
    former = {"key": {"S": "x"}, "reason": {"S": ""}, "assigned_at": {"N": "1"}, "assigned_by": {"S": ""}, "cancelled_at": {"N": "2"},
              "cancelled_by": {"S": ""}}
    attributes = {"seqd_state": {"S": state}, "seqd_text": {"S": "T"}, "seqd_assigned": stamp, "seqd_confirmed": stamp,
                  "seqd_formers": {"N": str(formers)}}
    attributes.update({f"seqd_former:{at}": {"M": former} for at in range(formers)})
    if formers:
        attributes["seqd_had"] = {"SS": ["x"]}
    return item(**attributes, **({"seqd_key": {"S": key}} if key else {}))


def register_answers() -> list:
    """Of a reading, a write and a page, in their order."""
    period = item(seqd_first={"N": "1"}, seqd_highest={"N": "2"})
    free = item(seqd_free={"NS": ["1"]})
    owned = item(seqd_period={"S": ""}, seqd_number={"N": "2"})
    cancelled = {"__type": "x#TransactionCanceledException", "CancellationReasons": [{"Code": "None"}] * 3 + [{"Code": "ConditionalCheckFailed"}] * 4}
    return [period, free, {"Responses": [number("free", formers=1)]}, {"Responses": [owned, {}]},
            {"Responses": [number("free", formers=1), number("confirmed", "a")]}, {"Responses": [free, number("assigned", "b")]}, cancelled, {},
            period, {"Responses": [number("void", formers=1), number("assigned", "b")]}]


def main() -> None:
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    counter = {"seq": {"N": "60"}, "seqd_meaning": {"S": "last"}}
    parked = {"seqd_returned:aa": {"M": {"begin": {"N": "5"}, "end": {"N": "9"}, "field": {"S": "seq"}}}}
    old = {key.replace("07", "09"): value for key, value in record("granted").items()}
    answers = [item(**counter), item(**counter, **record("granted")), item(**counter, **record("void", "00" * 16)),
               item(**counter, **parked), item(**counter, **old), item(seqd_epoch={"N": "3"}, seqd_nonce={"S": TOKEN}),
               {"Attributes": {"seq": {"N": "70"}}}, {},
               {"__type": "x#ConditionalCheckFailedException", "message": "m"}, {"__type": "x#ThrottlingException"}]
    lines = ["400 " + json.dumps(answer) if "__type" in answer else "200 " + json.dumps(answer) for answer in answers]
    for choice in range(0, 32):
        for first, line in enumerate(lines):
            text = "\n".join([line, lines[6], *lines[first:], *lines])
            (folder / f"{choice:02}-{first}").write_bytes(bytes([choice, first % 2]) + text.encode())
    lines = ["400 " + json.dumps(answer) if "__type" in answer else "200 " + json.dumps(answer) for answer in register_answers()]
    for first in range(len(lines)):
        text = "\n".join(lines[:first] + lines[first + 1:] if first else lines)
        (folder / f"register-{first}").write_bytes(bytes([0, 3]) + text.encode())


main()
