// theme.js: sets the light or dark theme that the viewer has chosen, before anything is drawn. The default is the theme of the system.
try {
  const chosen = localStorage.getItem("chime-theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch { /* storage may be forbidden */ }
