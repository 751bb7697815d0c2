// What can be known of people, and how its values are said.

import { get } from "../lib/api.js";
import { plain, useLoad } from "../lib/view.js";

// The slots by id; empty until they have come.
export function useSlots() {
  const { value } = useLoad(() => get("/v1/profile/slots"), []);
  return new Map((value || []).map((slot) => [slot.id, slot]));
}

export const labelOf = (slots, { slot, key }) => plain(slots.get(slot)?.label || key || slot);

// A value in words; one that the slot offers is written as a name, "ask_first".
export function wordsOf(slots, slot, value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  const isName = slots.get(slot)?.values?.includes(value);
  return plain(isName ? String(value).replaceAll("_", " ") : value);
}
