// What can be known of people, and how its values are said.

import { get } from "../lib/api.js";
import { plain } from "../lib/view.js";

// Give the slots by id.
export async function slotsById() {
  return new Map((await get("/v1/profile/slots")).map((slot) => [slot.id, slot]));
}

export const labelOf = (slots, { slot, key }) => plain(slots.get(slot)?.label || key || slot);

// A value in words; one that the slot offers is written as a name, "ask_first".
export function wordsOf(slots, slot, value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const isName = slots.get(slot)?.values?.includes(value);
  return plain(isName ? String(value).replaceAll("_", " ") : value);
}
