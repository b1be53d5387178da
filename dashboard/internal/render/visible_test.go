package render

import "testing"

func TestWhatNobodySeesIsWrittenAsAnEscape(t *testing.T) {
	for html, want := range map[string]string{
		"<p>plain</p>":                          "<p>plain</p>",
		"<p>two\nlines\tand ÄÖ</p>":             "<p>two\nlines\tand ÄÖ</p>",
		"\x1b[31m<b>\u202e</b>\u2028":           `\x1b[31m<b>\u202e</b>\u2028`,
		"<p>\x7f \u0085 \u00ad</p>":             `<p>\x7f \u0085 \u00ad</p>`,
		"<p>\U000e0041 \u200b</p>":              `<p>\U000e0041 \u200b</p>`,
		"<input value=\"\u202e\">\u202e":        "<input value=\"\u202e\">\\u202e",
		"<b title=\"\u202e\" value=\"\u202e\">": "<b title=\"\\u202e\" value=\"\u202e\">",
		"<textarea>a\u202e</textarea>\u202e<":   "<textarea>a\u202e</textarea>\\u202e<",
	} {
		if got := visible(html); got != want {
			t.Errorf("visible(%q) = %q, want %q", html, got, want)
		}
	}
}
