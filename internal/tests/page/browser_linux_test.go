package page_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// browser is one browser for all tests. Each test has a tab of its own.
var browser struct {
	sync.Once
	ctx  context.Context
	stop []func()
	err  error
}

func startBrowser() {
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		browser.err = fmt.Errorf("there is no Chromium: apt-get install chromium")
		return
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(scratch, "browser")),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("force-device-scale-factor", "1"), chromedp.Flag("hide-scrollbars", false))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, stop2 := chromedp.NewContext(allocator)
	browser.stop = []func(){stop2, stop}
	browser.ctx, browser.err = ctx, chromedp.Run(ctx)
}

func closeBrowser() {
	for _, stop := range browser.stop {
		stop()
	}
}

// A tab is a page in the browser, with its complaints.
type tab struct {
	t   *testing.T
	ctx context.Context

	mu         sync.Mutex
	complaints []string
}

// open opens an address in a tab of a size, in a theme, and waits until the page is ready.
func open(t *testing.T, url string, width, height int, theme string) *tab {
	t.Helper()
	slow(t)
	browser.Do(startBrowser)
	if browser.ctx == nil && browser.err != nil {
		t.Skip(browser.err)
	}
	require.NoError(t, browser.err)
	ctx, stop := chromedp.NewContext(browser.ctx)
	t.Cleanup(stop)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	p := &tab{t: t, ctx: ctx}
	chromedp.ListenTarget(ctx, func(ev any) {
		p.mu.Lock()
		defer p.mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			p.complaints = append(p.complaints, ev.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if ev.Type == runtime.APITypeError || ev.Type == runtime.APITypeWarning {
				text, _ := json.Marshal(ev.Args)
				p.complaints = append(p.complaints, string(text))
			}
		case *log.EventEntryAdded: // a request that the policy forbids, for one
			p.complaints = append(p.complaints, ev.Entry.Text)
		}
	})
	p.run(
		log.Enable(),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}),
		chromedp.EmulateViewport(int64(width), int64(height)),
		chromedp.Navigate(url),
	)
	return p
}

// openPage opens a page of leakgate as for a new user: it clears the choices of earlier tests.
func openPage(t *testing.T, url string, width, height int, theme string) *tab {
	t.Helper()
	p := open(t, url, width, height, theme)
	p.do("localStorage.clear()")
	p.run(chromedp.Navigate(url), chromedp.WaitVisible(`html[data-ready="true"]`))
	return p
}

func (p *tab) run(actions ...chromedp.Action) {
	p.t.Helper()
	require.NoError(p.t, chromedp.Run(p.ctx, actions...))
}

// eval returns the value of a JavaScript expression; it waits for a promise.
func eval[T any](p *tab, expression string) (value T) {
	p.t.Helper()
	p.run(chromedp.Evaluate(expression, &value, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return value
}

// do runs statements.
func (p *tab) do(statements string) {
	p.t.Helper()
	eval[bool](p, "(() => {"+statements+"; return true })()")
}

// clean fails if the page has complained, or is wider than the screen.
func (p *tab) clean() {
	p.t.Helper()
	p.mu.Lock()
	complaints := p.complaints
	p.mu.Unlock()
	require.Empty(p.t, complaints)
	wide := eval[[]string](p, `document.documentElement.scrollWidth <= innerWidth ? [] : [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 5).map(e => e.outerHTML.slice(0, 120))`)
	require.Empty(p.t, wide, "parts that lie beyond the screen")
}

// accessible fails if axe finds violations of WCAG 2.1 A and AA.
func (p *tab) accessible() {
	p.t.Helper()
	axe, err := os.ReadFile(filepath.Join("testdata", "axe", "axe.min.js"))
	require.NoError(p.t, err)
	if !eval[bool](p, "'axe' in window") {
		p.run(chromedp.Evaluate(string(axe)+";0", nil))
	}
	found := eval[[]string](p, `axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa']}).then(r => r.violations.flatMap(v => v.nodes.slice(0, 3).map(n => v.id + ': ' + n.html.slice(0, 160) + ' ' + n.failureSummary.replaceAll('\n', ' ').slice(0, 300))))`)
	require.Empty(p.t, found, strings.Join(found, "\n"))
}

// picture saves a picture of the whole tab in the folder LEAKGATE_PICTURES, if that is set.
func (p *tab) picture(name string) {
	p.t.Helper()
	p.keep(name, func(png *[]byte) chromedp.Action { return chromedp.FullScreenshot(png, 100) })
}

// view saves a picture of the visible part of the tab.
func (p *tab) view(name string) {
	p.t.Helper()
	p.keep(name, func(png *[]byte) chromedp.Action { return chromedp.CaptureScreenshot(png) })
}

func (p *tab) keep(name string, take func(png *[]byte) chromedp.Action) {
	p.t.Helper()
	dir := os.Getenv("LEAKGATE_PICTURES")
	if dir == "" {
		return
	}
	var png []byte
	p.run(take(&png))
	require.NoError(p.t, os.MkdirAll(dir, 0o777))
	require.NoError(p.t, os.WriteFile(filepath.Join(dir, name+".png"), png, 0o666))
}
