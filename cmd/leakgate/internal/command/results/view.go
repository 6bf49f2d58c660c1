package results

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/driver"
	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/artifacts"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/cli"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/outcome"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/page"
	"github.com/leakgate/leakgate/internal/verdict"
)

// ViewOptions is the command line of leakgate view.
type ViewOptions struct {
	address string // -http
	base    string
	growth  bool
	objects bool
	output  string // -o
	test    string
	text    bool
	top     cli.Top
	source  string
}

// FlagSet binds the flags to o.
func (o *ViewOptions) FlagSet() *flag.FlagSet {
	f := cli.NewFlagSet("view")
	f.StringVar(&o.address, "http", "localhost:0", "")
	f.StringVar(&o.base, "base", "", "")
	f.BoolVar(&o.growth, "growth", false, "")
	f.StringVar(&o.output, "o", "", "")
	f.BoolVar(&o.objects, "objects", false, "")
	f.StringVar(&o.test, "test", "", "")
	f.BoolVar(&o.text, "text", false, "")
	o.top.Register(f)
	return f
}

// ParseView reads the command line.
func ParseView(args []string) (*ViewOptions, error) {
	o := new(ViewOptions)
	rest, err := cli.ParseMixed(o.FlagSet(), args)
	if err != nil {
		return nil, err
	}
	switch len(rest) {
	case 0:
		o.source = artifacts.DefaultName
	case 1:
		o.source = rest[0]
	default:
		return nil, fmt.Errorf("one report or profile at a time, not %s too", rest[1])
	}
	switch filepath.Ext(o.output) {
	case "", ".svg", ".html", ".gz":
	default:
		return nil, fmt.Errorf("-o %s: its name must end in .html, .svg or .pb.gz", o.output)
	}
	if o.text && o.output != "" {
		return nil, errors.New("-text and -o: one way to show it at a time")
	}
	host, _, err := net.SplitHostPort(o.address)
	if err != nil {
		return nil, fmt.Errorf("-http %s: it must be host:port, such as localhost:8080", o.address)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("-http %s: the page shows what a program has in memory, so it is served to this machine only: use localhost", o.address)
	}
	return o, nil
}

// View is the command "leakgate view".
func View(c *cli.Context, args []string) int {
	o, err := ParseView(args)
	if err != nil {
		return c.Unparsed(err, "view")
	}
	c = c.Plain()
	switch err := o.view(c); {
	case errors.Is(err, errNoGrowth):
		c.Failure("could not tell: %v", err)
		return cli.Unknown
	case err != nil:
		return c.Failure("%v", err)
	}
	return cli.Pass
}

// view shows a run or a profile: as text, as a file, or served as a page.
func (o *ViewOptions) view(c *cli.Context) error {
	shown, err := o.read()
	if err != nil {
		return err
	}
	switch filepath.Ext(o.output) {
	case ".svg":
		return o.draw(shown)
	case ".html":
		data, err := shown.page(c)
		if err != nil {
			return err
		}
		return cli.WriteFile(o.output, data.Write)
	case ".gz":
		p, err := shown.readProfile()
		if err != nil {
			return err
		}
		return cli.WriteFile(o.output, p.Write)
	}
	if err := shown.text(c.Stdout, o); err != nil || o.text {
		return err
	}
	data, err := shown.page(c)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return o.serve(ctx, c, shown, data)
}

// A viewed is what is to be shown: a run, or a profile alone.
type viewed struct {
	*comparand
	base *comparand // of -base
	// the assertion of the run to show first, which has a profile; nil if none has
	first *outcome.Assertion
	title string
}

// read reads what is to be shown; of a run, the assertions that -test selects.
func (o *ViewOptions) read() (*viewed, error) {
	c, err := readComparand(o.source)
	if err != nil {
		return nil, err
	}
	v := &viewed{comparand: c, title: filepath.Base(o.source)}
	switch {
	case o.growth && c.Profile == nil:
		return nil, fmt.Errorf("-growth is for a CPU profile, and %s is a run", o.source)
	case o.growth:
		if c.Profile, err = growth(c.Profile); err != nil {
			return nil, fmt.Errorf("-growth: %s: %w", o.source, err)
		}
	}
	if o.base != "" {
		if c.Run == nil {
			return nil, errors.New("-base compares runs, and this is a profile: leakgate diff compares profiles")
		}
		if v.base, err = readComparand(o.base); err != nil {
			return nil, fmt.Errorf("-base: %w", err)
		}
		if v.base.Run == nil {
			return nil, fmt.Errorf("-base %s: it is a profile, and this is a run: give the artifacts of a run", o.base)
		}
	}
	if c.Run == nil {
		return v, nil
	}
	var tests []string
	matched := 0
	for _, p := range c.Run.Packages {
		p.Assertions = slices.DeleteFunc(p.Assertions, func(a *outcome.Assertion) bool {
			tests = append(tests, a.Test)
			return !strings.Contains(p.ImportPath+"."+a.Test, o.test)
		})
		matched += len(p.Assertions)
		for _, a := range p.Assertions {
			if a.Artifacts["retained"] != "" && (v.first == nil || v.first.Verdict != verdict.Fail && a.Verdict == verdict.Fail) {
				v.first = a
			}
		}
	}
	switch {
	case matched == 0 && o.test != "":
		return nil, fmt.Errorf("%s has no assertion in a test with %q in its name%s", o.source, o.test, cli.DidYouMean(o.test, tests))
	case matched == 0:
		return nil, fmt.Errorf("%s has no assertion: there is nothing to show", o.source)
	}
	if v.first != nil {
		v.title = fmt.Sprintf("%s.%s", v.first.Package, v.first.Test)
	}
	return v, nil
}

// readProfile reads the profile for pprof's pages and pictures.
func (v *viewed) readProfile() (*profile.Profile, error) {
	if v.Profile != nil {
		return v.Profile, nil
	}
	if v.first == nil {
		return nil, errors.New("there is no profile of an assertion: those that pass have one with leakgate run -artifacts all")
	}
	return v.Dir.Profile(v.first.Artifacts["retained"])
}

// page makes the page.
func (v *viewed) page(c *cli.Context) (*page.Data, error) {
	if v.Profile != nil {
		return page.Profile(v.Profile, v.title, cli.Version())
	}
	repository := page.OpenRepository(".", func(name string) string { return cli.Lookup(c.Env, name) })
	defer repository.Close()
	b := v.pages()
	b.Repository = repository
	return b.Build(), nil
}

// pages returns the builder of what the run's assertions found, compared with the base's.
func (v *viewed) pages() *page.Builder {
	b := &page.Builder{Run: v.Run, Dir: v.Dir}
	if v.base != nil {
		b.Base, b.BaseDir = v.base.Run, v.base.Dir
	}
	return b
}

// draw writes the flame graph.
func (o *ViewOptions) draw(v *viewed) error {
	p, err := v.readProfile()
	if err != nil {
		return err
	}
	unit := "bytes"
	if o.objects {
		unit = "count"
	}
	g, err := page.NewFlameGraph(p, unit, v.title)
	if err != nil {
		return err
	}
	return cli.WriteFile(o.output, g.SVG)
}

// serve shows the page until ctx ends, and below /ui/ the profile in pprof's web interface.
func (o *ViewOptions) serve(ctx context.Context, c *cli.Context, v *viewed, data *page.Data) error {
	listener, err := net.Listen("tcp", o.address)
	if err != nil {
		return err
	}
	p, err := v.readProfile()
	if err != nil {
		return serveHandlers(ctx, listener, c.Stdout, data, nil)
	}
	index := "inuse_space"
	if o.objects {
		index = "inuse_objects"
	}
	data.Pprof = "/ui/flamegraph"
	return driver.PProf(&driver.Options{
		Flagset: newPprofFlags("-http="+listener.Addr().String(), "-no_browser", "-sample_index="+index, "profile"),
		Fetch:   fixedProfile{p},
		UI:      quietUI{c.Stderr},
		Sym:     noSymbols{},
		HTTPServer: func(args *driver.HTTPServerArgs) error {
			return serveHandlers(ctx, listener, c.Stdout, data, args.Handlers)
		},
	})
}

// serveHandlers serves the page, and below /ui pprof's pages, where their links lead. It prints the
// address to w.
func serveHandlers(ctx context.Context, listener net.Listener, w io.Writer, data *page.Data, handlers map[string]http.Handler) error {
	var text bytes.Buffer
	if err := data.Write(&text); err != nil {
		return err
	}
	fmt.Fprintf(w, "http://%s/ (Ctrl-C ends it)\n", listener.Addr())
	mux := http.NewServeMux()
	for path, h := range handlers {
		mux.Handle("/ui"+path, h)
	}
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		_, _ = w.Write(text.Bytes())
	})
	host := listener.Addr().String()
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A foreign page must not read this one through a host name that it makes point here.
		if name, _, err := net.SplitHostPort(r.Host); r.Host != host && (err != nil || name != "localhost") {
			http.Error(w, "ask for "+host, http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// fixedProfile gives pprof a profile that has been read already.
type fixedProfile struct{ profile *profile.Profile }

// Fetch implements driver.Fetcher.
func (f fixedProfile) Fetch(string, time.Duration, time.Duration) (*profile.Profile, string, error) {
	return f.profile.Copy(), "", nil
}

// noSymbols leaves a profile as it is: its names are complete.
type noSymbols struct{}

// Symbolize implements driver.Symbolizer.
func (noSymbols) Symbolize(string, driver.MappingSources, *profile.Profile) error { return nil }

// quietUI takes pprof's messages, and prints the errors.
type quietUI struct{ w io.Writer }

// ReadLine implements driver.UI.
func (quietUI) ReadLine(string) (string, error) { return "", io.EOF }

// Print implements driver.UI: pprof's chatter is of no use here.
func (quietUI) Print(...any) {}

// PrintErr implements driver.UI.
func (u quietUI) PrintErr(args ...any) { fmt.Fprintln(u.w, args...) }

// IsTerminal implements driver.UI.
func (quietUI) IsTerminal() bool { return false }

// WantBrowser implements driver.UI.
func (quietUI) WantBrowser() bool { return false }

// SetAutoComplete implements driver.UI.
func (quietUI) SetAutoComplete(func(string) string) {}

// pprofFlags are a command line for pprof.
type pprofFlags struct {
	*flag.FlagSet
	args []string
}

func newPprofFlags(args ...string) *pprofFlags {
	f := cli.NewFlagSet("pprof")
	return &pprofFlags{f, args}
}

// StringList implements driver.FlagSet.
func (f *pprofFlags) StringList(name, value, usage string) *[]*string {
	return &[]*string{f.String(name, value, usage)}
}

// ExtraUsage implements driver.FlagSet.
func (f *pprofFlags) ExtraUsage() string { return "" }

// AddExtraUsage implements driver.FlagSet.
func (f *pprofFlags) AddExtraUsage(string) {}

// Parse implements driver.FlagSet.
func (f *pprofFlags) Parse(func()) []string {
	if err := f.FlagSet.Parse(f.args); err != nil {
		return nil
	}
	return f.Args()
}
