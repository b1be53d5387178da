package render

import "testing"

func TestAScriptIsTheSameWithoutWhatBrowsersDoNotNeed(t *testing.T) {
	for script, want := range map[string]string{
		"// whole lines\n  let a = 1; // and ends\n\n":  "let a=1;\n",
		`const { a, b } = await c(d ?? "");`:            `const{a,b}=await c(d??"");` + "\n",
		`for (const x of [...y]) if (!x) return x;`:     `for(const x of[...y])if(!x)return x;` + "\n",
		`say("a  // b", 'c : d', ` + "`e ${f + g} h`);": `say("a  // b",'c : d',` + "`e ${f + g} h`);\n",
		`text.replace(/[/ ]+ "/, "\" ")`:                `text.replace(/[/ ]+ "/,"\" ")` + "\n",
		`return a / b / c + +d - -e;`:                   `return a/b/c+ +d- -e;` + "\n",
		`import { make } from "./parse.js";`:            `import{make}from"./parse.js";` + "\n",
	} {
		if got := string(slim([]byte(script))); got != want {
			t.Errorf("%s: got %q, want %q", script, got, want)
		}
	}
}

func TestAStyleSheetIsTheSameWithoutCommentsAndIndents(t *testing.T) {
	const sheet, want = "/* tokens\n   of all */\n:root {\n  --a: 1px; /* one */\n}\n\na::after { content: \" ↑\"; }\n", ":root{\n--a:1px;\n}\na::after{content:\" ↑\"}\n"
	if got := string(slimStyle([]byte(sheet))); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
