// parse.js: the one place where a text becomes elements, parse, and one that makes an element, make. Scripts in a text do not run, and what the
// server sends is escaped by its templates.
const policy = globalThis.trustedTypes?.createPolicy("chime", { createHTML: (text) => text }) ?? { createHTML: (text) => text };

export function parse(html) {
  const doc = new DOMParser().parseFromString(policy.createHTML(html), "text/html");
  chimeTime.show(doc);
  return doc;
}

export function make(name, attributes, ...content) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...content);
  return element;
}
