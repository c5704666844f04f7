// The updates that a change of a register consists of, one for each item that it relies on:
// together they are one transaction, which is applied while all of it is as it was read. The rules
// are those of tests/model/register.pml. Pure functions; any thread.
#pragma once

#include <set>
#include <vector>

#include "daemon/store/dynamo/register/dynamo_register_items.h"

namespace seqd {

// --- the period
// Marks the counter of the register's name, so that no version leases from it.
DynamoUpdate mark_name(const DynamoRegisterItems& items);
// While the number before `first` is the highest, and the period is not closed.
DynamoUpdate raise_highest(const DynamoRegisterItems& items, std::int64_t first, std::int64_t last);
DynamoUpdate close_period(const DynamoRegisterItems& items, const RegisterChange& close);
// Nothing becomes free or is refilled behind it.
DynamoUpdate close_free(const DynamoRegisterItems& items, const RegisterChange& close);
// While the period is not closed. One of them may be empty.
DynamoUpdate change_free(const DynamoRegisterItems& items, const std::set<std::int64_t>& put_in,
                         const std::set<std::int64_t>& take_out);

// --- the key
// While it has no number.
DynamoUpdate give_key(const DynamoRegisterItems& items, const RegisterChange& change);
// While it has this one.
DynamoUpdate take_key(const DynamoRegisterItems& items, const RegisterChange& cancel);

// --- the number
DynamoUpdate add_number(const DynamoRegisterItems& items, const RegisterChange& add);
DynamoUpdate refill_number(const DynamoRegisterItems& items, const RegisterChange& refill);
DynamoUpdate confirm_number(const DynamoRegisterItems& items, const RegisterChange& confirm);
// `record`: as it was read. While number and key are the same, so is the rest of it.
DynamoUpdate cancel_number(const DynamoRegisterItems& items, const RegisterChange& cancel,
                           const NumberRecord& record);

}  // namespace seqd
