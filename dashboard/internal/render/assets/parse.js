// parse.js: the one place where a text becomes elements. Scripts in it do not run; what the server sends is escaped by its templates.
const policy = globalThis.trustedTypes?.createPolicy("chime", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

export function parse(html) {
  const doc = new DOMParser().parseFromString(policy.createHTML(html), "text/html");
  chimeTime.show(doc);
  return doc;
}
