// Package logs leaks by loggers.
package logs

import (
	"bytes"
	"context"
	"io"
	"log"
	"log/slog"
	"testing"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "logs", Cases: []judge.Case{
	{Name: "WriterChain", Leak: writerChain(false), Fixed: writerChain(true), Grows: judge.Objects, Culprit: `log\.std`},
	{Name: "LoggerChain", Leak: loggerChain(false), Fixed: loggerChain(true), Grows: judge.Bytes(20).After(2000), Culprit: `logs\.logger`},
	{Name: "DefaultChain", Leak: defaultChain(false), Fixed: defaultChain(true), Grows: judge.Bytes(20).After(2000), Culprit: `log/slog\.defaultLogger`},
	{Name: "HandlerChain", Leak: handlerChain(false), Fixed: handlerChain(true), Grows: judge.Objects, Culprit: `logs\.logger`},
	{Name: "Buffer", Leak: bufferedLog(false), Fixed: bufferedLog(true), Grows: judge.Bytes(100), Culprit: `logs\.output`},
	{Name: "LoggerPerUser", Leak: loggers(false), Fixed: loggers(true), Grows: judge.Objects, Culprit: `logs\.byUser`},
	{Name: "RecordsKept", Leak: records(false), Fixed: records(true), Grows: judge.Objects, Culprit: `logs\.collected|logs\.\(?\*?collector`},

	{Name: "With", Healthy: with, Grows: judge.Objects},
	{Name: "SetOutput", Healthy: setOutput, Grows: judge.Objects},
}}

func writerChain(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		first := log.Writer()
		t.Cleanup(func() { log.SetOutput(first) })
		log.SetOutput(io.Discard)
		return func() {
			if fixed {
				log.SetOutput(io.Discard)
			}
			log.SetOutput(io.MultiWriter(log.Writer(), new(bytes.Buffer)))
		}
	}
}

var logger = discarding()

func discarding() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

func loggerChain(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { logger = discarding() })
		return func() {
			request := logger.With("session", app.NewSession())
			if !fixed {
				logger = request
			}
			request.Info("hello")
		}
	}
}

func defaultChain(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		first := slog.Default()
		slog.SetDefault(discarding())
		t.Cleanup(func() { slog.SetDefault(first) })
		return func() {
			request := slog.Default().With("session", app.NewSession())
			if !fixed {
				slog.SetDefault(request)
			}
			request.Info("hello")
		}
	}
}

// A tagging handler adds a session to each record.
type tagging struct {
	slog.Handler
	session *app.Session
}

func (h *tagging) Handle(ctx context.Context, r slog.Record) error {
	r.Add("session", h.session.ID)
	return h.Handler.Handle(ctx, r)
}

func handlerChain(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { logger = discarding() })
		return func() {
			below := logger.Handler()
			if h, ok := below.(*tagging); ok && fixed {
				below = h.Handler
			}
			logger = slog.New(&tagging{below, app.NewSession()})
		}
	}
}

var output bytes.Buffer

func bufferedLog(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { output = bytes.Buffer{} })
		l := log.New(&output, "", log.LstdFlags)
		return func() {
			if fixed {
				output.Reset()
			}
			l.Print("something has happened to a session, of which this line tells the reader a lot, as lines of logs do, ", app.NewSession())
		}
	}
}

var byUser = map[string]*log.Logger{}

func loggers(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		t.Cleanup(func() { clear(byUser) })
		return func() {
			user := app.NewSession().ID
			if fixed {
				user = "somebody"
			}
			if byUser[user] == nil {
				byUser[user] = log.New(io.Discard, user, 0)
			}
			byUser[user].Print("hello")
		}
	}
}

// A collector keeps the records that it has seen.
type collector struct {
	slog.Handler
	most    int
	records []slog.Record
}

func (c *collector) Handle(_ context.Context, r slog.Record) error {
	if c.records = append(c.records, r); len(c.records) > c.most {
		c.records = nil
	}
	return nil
}

var collected *slog.Logger

func records(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		most := 1 << 30
		if fixed {
			most = 10
		}
		collected = slog.New(&collector{Handler: slog.DiscardHandler, most: most})
		collected = slog.New(&enabled{collected.Handler()})
		t.Cleanup(func() { collected = nil })
		return func() { collected.Info("hello", "session", app.NewSession()) }
	}
}

// enabled lets all levels through.
type enabled struct{ slog.Handler }

func (enabled) Enabled(context.Context, slog.Level) bool { return true }

func with(*testing.T) func() {
	l := discarding()
	return func() { l.With("session", app.NewSession()).WithGroup("group").Info("hello", "n", app.Next()) }
}

func setOutput(t *testing.T) func() {
	first := log.Writer()
	t.Cleanup(func() { log.SetOutput(first) })
	return func() {
		log.SetOutput(new(bytes.Buffer))
		log.Print("hello")
	}
}
