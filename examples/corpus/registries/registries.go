// Package registries leaks into what the standard library registers for the whole process.
package registries

import (
	"archive/zip"
	"encoding/gob"
	"expvar"
	"flag"
	"fmt"
	"go/token"
	"image"
	"io"
	"mime"
	"net/rpc"
	"os"
	"os/signal"
	"runtime/pprof"
	"strings"
	"syscall"
	"testing"
	"text/template"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "registries", Cases: []judge.Case{
	{Name: "Expvar", Leak: judge.Op(publishEach), Fixed: judge.Op(publishOnce()), Grows: judge.Entries(published), Culprit: `expvar\.vars`},
	{Name: "ExpvarMap", Leak: judge.Op(countByUser, clearCounts), Fixed: judge.Op(countAll, clearCounts), Grows: judge.Objects, Culprit: `registries\.requests`},
	{Name: "Gob", Leak: judge.Op(registerGob), Fixed: judge.Op(registerSameGob), Grows: judge.Objects, Culprit: `encoding/gob\.`},
	{Name: "Mime", Leak: judge.Op(addMimeType), Fixed: judge.Op(addSameMimeType), Grows: judge.Objects, Culprit: `mime\.`},
	{Name: "Signal", Leak: notified(false), Fixed: notified(true), Grows: judge.Objects, Culprit: `os/signal\.`},
	{Name: "Flag", Leak: judge.Op(addFlag), Fixed: judge.Op(addLocalFlag), Grows: judge.Objects, Culprit: `flag\.CommandLine`},
	{Name: "TemplateOfBase", Leak: judge.Op(parseIntoBase, newBase), Fixed: judge.Op(parseIntoClone, newBase), Grows: judge.Objects, Culprit: `registries\.base`},
	{Name: "TemplateCache", Leak: judge.Op(cacheByText, clearTemplates), Fixed: judge.Op(cacheByName, clearTemplates), Grows: judge.Objects, Culprit: `registries\.templates`},
	{Name: "Pprof", Leak: judge.Op(newProfile), Fixed: judge.Op(sameProfile), Grows: judge.Entries(func() int { return len(pprof.Profiles()) }), Culprit: `runtime/pprof\.`},
	{Name: "PprofRecords", Leak: judge.Op(openRecorded), Fixed: judge.Op(openAndRemove), Grows: judge.Entries(func() int { return connections.Count() }).After(100), Culprit: `registries\.connections|runtime/pprof`},
	{Name: "RPC", Leak: judge.Op(registerService), Fixed: judge.Op(registerLocally), Grows: judge.Objects, Culprit: `net/rpc\.DefaultServer`},
	{Name: "FileSet", Leak: judge.Op(addFile, newFileSet), Fixed: judge.Op(addAndRemoveFile, newFileSet), Grows: judge.Objects, Culprit: `registries\.sources`},
	{Name: "ImageFormat", Leak: judge.Op(registerFormat), Fixed: judge.Op(decodeOnly), Grows: judge.Objects, Culprit: `image\.`},
	{Name: "Zip", Leak: judge.Op(registerMethod), Fixed: judge.Op(registerMethodLocally), Grows: judge.Objects.After(100), Culprit: `archive/zip\.`},

	{Name: "Templates", Healthy: judge.Op(executeTemplates), Grows: judge.Objects},
	{Name: "SignalStopped", Healthy: notified(true), Grows: judge.Objects},
	{Name: "GobStream", Healthy: gobStream, Grows: judge.Objects},
	{Name: "ExpvarSame", Healthy: judge.Op(countAll, clearCounts), Grows: judge.Objects},
}}

func published() (n int) {
	expvar.Do(func(expvar.KeyValue) { n++ })
	return n
}

func publishEach() {
	expvar.Publish(fmt.Sprint("session-", app.Next()), expvar.Func(func() any { return 1 }))
}

func publishOnce() func() {
	return func() {
		if expvar.Get("sessions") == nil {
			expvar.NewInt("sessions")
		}
		expvar.Get("sessions").(*expvar.Int).Add(1)
	}
}

var requests = new(expvar.Map).Init()

func clearCounts() { requests.Init() }

func countByUser() { requests.Add(app.NewSession().ID, 1) }

func countAll() { requests.Add("all", 1) }

type message struct{ Text string }

func registerGob() { gob.RegisterName(fmt.Sprint("message-", app.Next()), newType()) }

func registerSameGob() { gob.RegisterName("message", message{}) }

func addMimeType() { addType(fmt.Sprint(".session", app.Next())) }

func addSameMimeType() { addType(".session") }

func addType(ext string) {
	if err := mime.AddExtensionType(ext, "text/plain"); err != nil {
		panic(err)
	}
}

func notified(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			c := make(chan os.Signal, 1)
			signal.Notify(c, syscall.SIGHUP)
			if fixed {
				signal.Stop(c)
			}
		}
	}
}

func addFlag() { flag.String(fmt.Sprint("session-", app.Next()), "", "the session's `name`") }

func addLocalFlag() {
	flags := flag.NewFlagSet("command", flag.ContinueOnError)
	flags.String(fmt.Sprint("session-", app.Next()), "", "the session's `name`")
}

var base *template.Template

func newBase() { base = template.Must(template.New("base").Parse("{{.}}")) }

func init() { newBase() }

func parseIntoBase() { template.Must(base.New(app.NewSession().ID).Parse("{{.}} once")) }

func parseIntoClone() {
	clone := template.Must(base.Clone())
	template.Must(clone.New(app.NewSession().ID).Parse("{{.}} once"))
}

var templates = map[string]*template.Template{}

func clearTemplates() { clear(templates) }

func cached(key, text string) *template.Template {
	if templates[key] == nil {
		templates[key] = template.Must(template.New("page").Parse(text))
	}
	return templates[key]
}

func cacheByText() {
	text := fmt.Sprint("hello, ", app.NewSession().ID)
	cached(text, text)
}

func cacheByName() {
	text := fmt.Sprint("hello, ", app.NewSession().ID)
	cached("hello", text)
}

func newProfile() { pprof.NewProfile(fmt.Sprint("session-", app.Next())) }

func sameProfile() {
	if pprof.Lookup("sessions") == nil {
		pprof.NewProfile("sessions")
	}
}

// connections is a profile of open connections.
var connections = pprof.NewProfile("example.com/corpus/connections")

func openRecorded() { connections.Add(app.NewSession(), 1) }

func openAndRemove() {
	s := app.NewSession()
	connections.Add(s, 1)
	connections.Remove(s)
}

type echo struct{ session *app.Session }

// Say is called by clients.
func (e *echo) Say(text string, reply *string) error {
	*reply = text
	return nil
}

func registerService() { register(rpc.DefaultServer) }

func registerLocally() { register(rpc.NewServer()) }

func register(server *rpc.Server) {
	if err := server.RegisterName(fmt.Sprint("Echo", app.Next()), &echo{app.NewSession()}); err != nil {
		panic(err)
	}
}

var sources = token.NewFileSet()

func newFileSet() { sources = token.NewFileSet() }

func addFile() { sources.AddFile(app.NewSession().ID, -1, 1000) }

func addAndRemoveFile() { sources.RemoveFile(sources.AddFile(app.NewSession().ID, -1, 1000)) }

func registerFormat() {
	image.RegisterFormat(app.NewSession().ID, "magic"+app.NewSession().ID,
		func(io.Reader) (image.Image, error) { return nil, io.EOF }, nil)
}

func decodeOnly() { _, _, _ = image.Decode(strings.NewReader("magic" + app.NewSession().ID)) }

func registerMethod() {
	s := app.NewSession()
	zip.RegisterDecompressor(method(), func(io.Reader) io.ReadCloser { return io.NopCloser(strings.NewReader(s.ID)) })
}

func registerMethodLocally() {
	s := app.NewSession()
	new(zip.Reader).RegisterDecompressor(method(), func(io.Reader) io.ReadCloser { return io.NopCloser(strings.NewReader(s.ID)) })
}

var methods uint16 = 100

// method returns the number of a compression method that nobody has registered.
func method() uint16 {
	methods++
	return methods
}

func executeTemplates() {
	var b strings.Builder
	if err := base.Execute(&b, app.NewSession()); err != nil {
		panic(err)
	}
	parseIntoClone()
}

func gobStream(*testing.T) func() {
	return func() {
		r, w := io.Pipe()
		go func() {
			w.CloseWithError(gob.NewEncoder(w).Encode(message{"hello"}))
		}()
		var m message
		if err := gob.NewDecoder(r).Decode(&m); err != nil {
			panic(err)
		}
		r.Close()
	}
}
