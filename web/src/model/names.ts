// The order of names: "node-2" before "node-10".

export const byName = new Intl.Collator('en', {numeric: true}).compare;
