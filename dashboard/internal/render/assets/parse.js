// parse.js: parse is the only function that turns a text into elements, and make creates an element. Scripts in a text do not run, and the server's
// templates escape all data.
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
