// theme.js: light or dark, as the viewer has chosen; runs before anything is drawn. Without a choice the system's applies.
try {
  const chosen = localStorage.getItem("chime-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden */ }
