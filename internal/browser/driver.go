// Package browser drives a headless Chromium. Its tests use the dashboard like a viewer.
//
// The browser is CHIME_BROWSER, then chromium-headless-shell, then chromium: the first that exists. Only this file calls chromedp.
package browser

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	patience = 30 * time.Second      // time limit for one change of a page
	interval = 20 * time.Millisecond // interval between two checks
)

// A Browser is a process with its own profile.
type Browser struct {
	ctx    context.Context
	cancel context.CancelFunc
}

// executable returns the path of the browser.
func executable() (string, error) {
	names := []string{"chromium-headless-shell", "chromium"}
	if named := os.Getenv("CHIME_BROWSER"); named != "" {
		names = []string{named}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("browser: no browser of %q is installed. On Debian: apt-get install chromium-headless-shell. To use another one, set CHIME_BROWSER", names)
}

// Start starts the browser.
func Start() (*Browser, error) {
	path, err := executable()
	if err != nil {
		return nil, err
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // as root, Chromium only runs without its sandbox
	}
	allocated, end := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocated)
	b := &Browser{ctx, func() { cancel(); end() }}
	if err := chromedp.Do(ctx); err != nil {
		b.Close()
		return nil, fmt.Errorf("browser: start %s: %w", path, err)
	}
	return b, nil
}

// Close ends the process.
func (b *Browser) Close() { b.cancel() }

// A Look has the settings with which a viewer opens a page.
type Look struct {
	Width, Height int64   // CSS pixels
	Scale         float64 // screen pixels for each CSS pixel; 0: 1
	Dark          bool
	Print         bool   // as on paper
	Zone          string // IANA name; empty: the machine's
	NoScript      bool
}

// A Page is a tab with its own storage.
type Page struct {
	ctx     context.Context
	cancel  context.CancelFunc
	mu      sync.Mutex
	trouble []string
}

// Open opens an empty tab.
func (b *Browser) Open(look Look) (*Page, error) {
	p := &Page{}
	ctx, cancel := chromedp.NewContext(b.ctx, chromedp.WithNewBrowserContext(), chromedp.WithListener(p.record))
	p.ctx, p.cancel = ctx, cancel
	return p, errors.Join(p.Look(look), call(p, page.Enable, page.EnableParams{}), call(p, cdplog.Enable, cdp.Empty{}))
}

// Look changes the settings of the viewer.
func (p *Page) Look(look Look) error {
	theme := "light"
	if look.Dark {
		theme = "dark"
	}
	media := "screen"
	if look.Print {
		media = "print"
	}
	return errors.Join(
		chromedp.Do(p.ctx, chromedp.EmulateViewport(look.Width, look.Height, chromedp.EmulateScale(cmp.Or(look.Scale, 1)))),
		call(p, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: media, Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}),
		call(p, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: look.Zone}),
		call(p, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: look.NoScript}),
	)
}

func call[P, R any](p *Page, command cdp.Command[P, R], params P) error {
	_, err := chromedp.Call(p.ctx, command, params)
	return err
}

// record records events that should not happen: an entry of the console or of the log, such as a violation of the content security policy, an uncaught
// exception, or a dialog of the browser.
func (p *Page) record(event any) {
	var text string
	switch e := event.(type) {
	case *cdplog.EventEntryAdded:
		text = fmt.Sprintf("log: %s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL)
	case *runtime.EventExceptionThrown:
		text = "exception: " + e.ExceptionDetails.Text
		if thrown := e.ExceptionDetails.Exception; thrown != nil {
			text += " " + thrown.Description
		}
	case *runtime.EventConsoleAPICalled:
		var said []string
		for _, arg := range e.Args {
			said = append(said, fmt.Sprint(string(arg.Value), arg.Description, contents(arg.Preview)))
		}
		text = fmt.Sprintf("console.%s: %s", e.Type, strings.Join(said, " "))
	case *page.EventJavascriptDialogOpening:
		text = fmt.Sprintf("dialog: %s %q", e.Type, e.Message)
	default:
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trouble = append(p.trouble, text)
}

// contents returns the values of an array or an object, as far as the browser previews them.
func contents(preview *runtime.ObjectPreview) string {
	if preview == nil {
		return ""
	}
	var values []string
	for _, property := range preview.Properties {
		values = append(values, property.Name+": "+property.Value)
	}
	return " {" + strings.Join(values, ", ") + "}"
}

// Trouble returns the events that were recorded since the last call.
func (p *Page) Trouble() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	heard := p.trouble
	p.trouble = nil
	return heard
}

// Close closes the tab.
func (p *Page) Close() { p.cancel() }

// Go opens an address and waits until it is loaded.
func (p *Page) Go(url string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		return fmt.Errorf("browser: open %s: %w", url, err)
	}
	return nil
}

// Eval returns the value of an expression. It awaits a promise.
func Eval[T any](p *Page, expression string) (T, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		return value, fmt.Errorf("browser: %.200s: %w", expression, err)
	}
	return value, nil
}

// Wait waits until an expression is true.
func (p *Page) Wait(expression string) error {
	end := time.Now().Add(patience)
	for {
		ok, err := Eval[bool](p, "Boolean("+expression+")")
		switch {
		case ok:
			return nil
		case time.Now().After(end):
			return errors.Join(fmt.Errorf("browser: not true after %v: %s", patience, expression), err)
		}
		time.Sleep(interval) // the page cannot call this process, so it is polled
	}
}

// Keys that are not characters.
const (
	Enter  = "\r"
	Tab    = "\t"
	Escape = "\u001b"
)

// Press presses keys one after another.
func (p *Page) Press(keys string) error { return chromedp.Do(p.ctx, chromedp.KeyEvent(keys)) }

// PressWithControl presses a key while Control is down.
func (p *Page) PressWithControl(key string) error {
	return chromedp.Do(p.ctx, chromedp.KeyEvent(key, chromedp.KeyModifiers(chromedp.ModifierCtrl)))
}

// Click clicks the first element of a selector when it is visible.
func (p *Page) Click(selector string) error {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.Click(chromedp.CSS(selector))); err != nil {
		return fmt.Errorf("browser: click %s: %w", selector, err)
	}
	return nil
}

// ClickAt clicks at a place of the viewport, in CSS pixels.
func (p *Page) ClickAt(x, y float64) error { return chromedp.Do(p.ctx, chromedp.MouseClickXY(x, y)) }

// Point moves the pointer to a place of the viewport, in CSS pixels.
func (p *Page) Point(x, y float64) error {
	return chromedp.Do(p.ctx, chromedp.MouseEvent("mouseMoved", x, y))
}

// Freeze stops the clock of all pages that are opened later, so that relative times do not change between pictures.
func (p *Page) Freeze(at time.Time) error {
	still := fmt.Sprintf("Date.now = () => %d; performance.now = () => 0;", at.UnixMilli())
	return call(p, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: still})
}

// Shot returns a PNG picture of the whole page. View returns a picture of the visible part.
func (p *Page) Shot() ([]byte, error) { return p.picture(chromedp.FullScreenshot(100)) }

func (p *Page) View() ([]byte, error) { return p.picture(chromedp.CaptureScreenshot()) }

func (p *Page) picture(take chromedp.Action[[]byte]) ([]byte, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	return chromedp.Run(ctx, take)
}
