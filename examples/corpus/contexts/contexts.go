// Package contexts leaks by contexts.
package contexts

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"testing"
	"time"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "contexts", Cases: []judge.Case{
	{Name: "TimeoutDropped", Leak: judge.Op(callWithoutCancel), Fixed: judge.Op(call), Grows: judge.Objects, Culprit: `timer\(context\.WithTimeout\)`},
	{Name: "DeadlineDropped", Leak: judge.Op(finishWithoutCancel), Fixed: judge.Op(finish), Grows: judge.Objects, Culprit: `timer\(context\.With(Timeout|Deadline)\)`},
	{Name: "TimeoutCauseDropped", Leak: judge.Op(causeWithoutCancel), Fixed: judge.Op(cause), Grows: judge.Objects, Culprit: `timer\(context\.With`},
	{Name: "ChildOfServer", Leak: judge.Op(requestWithoutCancel, restart), Fixed: judge.Op(request, restart), Grows: judge.Objects, Culprit: `contexts\.server`},
	{Name: "CauseChildOfServer", Leak: judge.Op(jobWithoutCancel, restart), Fixed: judge.Op(job, restart), Grows: judge.Objects, Culprit: `contexts\.server`},
	{Name: "ChildOfTest", Leak: childrenOfTest(false), Fixed: childrenOfTest(true), Grows: judge.Objects, Culprit: `common\.ctx|children\[`},
	{Name: "TimeoutOfTest", Leak: timeoutsOfTest(false), Fixed: timeoutsOfTest(true), Grows: judge.Objects, Culprit: `common\.ctx|children\[|timer\(context\.With`},
	{Name: "AfterFuncOfTest", Leak: afterFuncsOfTest(false), Fixed: afterFuncsOfTest(true), Grows: judge.Objects, Culprit: `common\.ctx|children\[`},
	{Name: "ServiceOfTest", Leak: servicesOfTest(false), Fixed: servicesOfTest(true), Grows: judge.Objects, Culprit: `common\.ctx|children\[|contexts\.`},
	{Name: "CancelledByTest", Leak: childrenOfCleanup(false), Fixed: childrenOfCleanup(true), Grows: judge.Objects, Culprit: `\.children\[`},
	{Name: "AfterFunc", Leak: judge.Op(watchWithoutStop, restart), Fixed: judge.Op(watch, restart), Grows: judge.Objects, Culprit: `contexts\.server`},
	{Name: "ValueChain", Leak: judge.Op(tagForever, clearScope), Fixed: judge.Op(tag, clearScope), Grows: judge.Objects, Culprit: `contexts\.scope`},
	{Name: "KeptByJobs", Leak: judge.Op(enqueueContext, clearJobs), Fixed: judge.Op(enqueueID, clearJobs), Grows: judge.Bytes(400), Culprit: `contexts\.jobs`},
	{Name: "WithoutCancelKept", Leak: judge.Op(detachForever, clearDetached), Fixed: judge.Op(detach, clearDetached), Grows: judge.Objects, Culprit: `contexts\.detached`},
	{Name: "Merged", Leak: merges(false), Fixed: merges(true), Grows: judge.Goroutines, Culprit: `contexts\.merge`},
	{Name: "NotifyContext", Leak: judge.Op(serveWithoutStop), Fixed: judge.Op(serve), Grows: judge.Goroutines, Culprit: `contexts\.serveWithoutStop|os/signal\.NotifyContext`},
	{Name: "BackgroundDone", Leak: judge.Op(waitForBackground), Fixed: judge.Op(waitForCancel), Grows: judge.Goroutines, Culprit: `contexts\.waitFor`},
	{Name: "CancelKept", Leak: judge.Op(registerCancel, clearCancels), Fixed: judge.Op(registerAndForgetCancel, clearCancels), Grows: judge.Objects, Culprit: `contexts\.cancels`},

	{Name: "ManyChildren", Healthy: judge.Op(manyChildren, restart), Grows: judge.Objects},
	{Name: "DeepValues", Healthy: judge.Op(deepValues), Grows: judge.Objects},
	{Name: "ChildOfFinishedParent", Healthy: judge.Op(childOfFinishedParent), Grows: judge.Objects},
	{Name: "UnreferencedCancel", Healthy: judge.Op(unreferencedCancel), Grows: judge.Objects},
	{Name: "ShortTimeoutDropped", Healthy: judge.Op(shortTimeoutDropped), Grows: judge.Objects.After(50)},
	{Name: "StoppedAfterFunc", Healthy: judge.Op(stoppedAfterFunc, restart), Grows: judge.Objects},
}}

// childrenOfCleanup registers functions with a context that is cancelled only when the test ends,
// by t.Cleanup.
func childrenOfCleanup(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return func() {
			s := app.NewSession()
			stop := context.AfterFunc(ctx, func() { context.AfterFunc(ctx, s.Expire) })
			if fixed {
				stop()
			}
		}
	}
}

type key int

var errDone = errors.New("done")

func use(ctx context.Context) {
	if ctx.Err() != nil {
		panic(ctx.Err())
	}
}

func end(fixed bool, cancel context.CancelFunc) {
	if fixed {
		cancel()
	}
}

func callWithoutCancel() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	_ = cancel
	use(ctx)
}

func call() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	use(ctx)
}

func finishWithoutCancel() {
	ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), key(0), app.NewSession()), time.Now().Add(time.Hour))
	_ = cancel
	use(ctx)
}

func finish() {
	ctx, cancel := context.WithDeadline(context.WithValue(context.Background(), key(0), app.NewSession()), time.Now().Add(time.Hour))
	defer cancel()
	use(ctx)
}

func causeWithoutCancel() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Hour, errDone)
	_ = cancel
	use(ctx)
}

func cause() {
	ctx, cancel := context.WithTimeoutCause(context.Background(), time.Hour, errDone)
	defer cancel()
	use(ctx)
}

// server is the context of the whole program.
var server, stopServer = context.WithCancel(context.Background())

func restart() {
	stopServer()
	server, stopServer = context.WithCancel(context.Background())
}

func requestWithoutCancel() {
	ctx, cancel := context.WithCancel(server)
	_ = cancel
	use(ctx)
}

func request() {
	ctx, cancel := context.WithCancel(server)
	defer cancel()
	use(ctx)
}

func jobWithoutCancel() {
	ctx, cancel := context.WithCancelCause(context.WithValue(server, key(1), app.NewSession()))
	_ = cancel
	use(ctx)
}

func job() {
	ctx, cancel := context.WithCancelCause(context.WithValue(server, key(1), app.NewSession()))
	defer cancel(errDone)
	use(ctx)
}

func childrenOfTest(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			ctx, cancel := context.WithCancel(t.Context())
			defer end(fixed, cancel)
			use(ctx)
		}
	}
}

func timeoutsOfTest(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer end(fixed, cancel)
			use(ctx)
		}
	}
}

func afterFuncsOfTest(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			stop := context.AfterFunc(t.Context(), app.NewSession().Expire)
			if fixed {
				defer stop()
			}
		}
	}
}

// A service ends with its context.
type service struct {
	ctx     context.Context
	cancel  context.CancelFunc
	session *app.Session
}

func startService(parent context.Context) *service {
	s := &service{session: app.NewSession()}
	s.ctx, s.cancel = context.WithCancel(context.WithValue(parent, key(2), s))
	return s
}

func (s *service) close() { s.cancel() }

func servicesOfTest(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			s := startService(t.Context())
			if fixed {
				defer s.close()
			}
		}
	}
}

func watchWithoutStop() {
	stop := context.AfterFunc(server, app.NewSession().Expire)
	_ = stop
}

func watch() {
	stop := context.AfterFunc(server, app.NewSession().Expire)
	defer stop()
}

// scope gets a value for each request.
var scope = context.Background()

func clearScope() { scope = context.Background() }

func tagForever() { scope = context.WithValue(scope, key(3), app.NewSession()) }

func tag() { scope = context.WithValue(context.Background(), key(3), app.NewSession()) }

// jobs are waiting jobs: the leak keeps the whole context of each request, its twin only an ID.
var jobs []any

func clearJobs() { jobs = nil }

func requestContext() context.Context {
	return context.WithValue(context.Background(), key(4), app.NewSession())
}

func enqueueContext() { jobs = append(jobs, requestContext()) }

func enqueueID() {
	if jobs = append(jobs, requestContext().Value(key(4)).(*app.Session).ID); len(jobs) > 10 {
		jobs = nil
	}
}

// detached are contexts of work that outlives its request.
var detached = map[string]context.Context{}

func clearDetached() { clear(detached) }

func detachForever() {
	ctx := context.WithoutCancel(requestContext())
	detached[ctx.Value(key(4)).(*app.Session).ID] = ctx
}

func detach() {
	ctx := context.WithoutCancel(requestContext())
	id := ctx.Value(key(4)).(*app.Session).ID
	detached[id] = ctx
	delete(detached, id)
}

// merge returns a context that ends with either of two.
func merge(a, b context.Context, fixed bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(a)
	go func() {
		done := ctx.Done()
		if !fixed {
			done = nil
		}
		select {
		case <-b.Done():
			cancel()
		case <-done:
		}
	}()
	return ctx, cancel
}

func merges(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		b, stop := context.WithCancel(context.Background())
		t.Cleanup(stop)
		return func() {
			ctx, cancel := merge(context.Background(), b, fixed)
			defer cancel()
			use(ctx)
		}
	}
}

func serveWithoutStop() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	_ = stop
	use(ctx)
}

func serve() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	use(ctx)
}

func waitFor(ctx context.Context, s *app.Session) {
	<-ctx.Done()
	s.Expire()
}

func waitForBackground() { go waitFor(context.Background(), app.NewSession()) }

func waitForCancel() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go waitFor(ctx, app.NewSession())
}

// cancels can end a running request.
var cancels = map[int]context.CancelFunc{}

func clearCancels() { clear(cancels) }

func registerCancel() {
	_, cancel := context.WithCancel(context.Background())
	defer cancel()
	cancels[app.Next()] = cancel
}

func registerAndForgetCancel() {
	_, cancel := context.WithCancel(context.Background())
	id := app.Next()
	cancels[id] = cancel
	cancel()
	delete(cancels, id)
}

func manyChildren() {
	for range 20 {
		ctx, cancel := context.WithTimeout(server, time.Hour)
		defer cancel()
		use(ctx)
	}
}

func deepValues() {
	ctx := context.Background()
	for i := range 100 {
		ctx = context.WithValue(ctx, key(i), app.NewSession())
	}
	use(ctx)
}

// The children of a context that is done are not recorded by it.
func childOfFinishedParent() {
	parent, stop := context.WithCancel(context.Background())
	for range 10 {
		_, cancel := context.WithCancel(parent)
		_ = cancel
	}
	stop()
}

// A context that can be cancelled, but has no deadline and no parent that can be cancelled, is
// garbage even if its cancel is never called.
func unreferencedCancel() {
	ctx, cancel := context.WithCancel(context.Background())
	_ = cancel
	use(ctx)
}

// The timer frees the context when it is due, which is soon.
func shortTimeoutDropped() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	_, _ = ctx, cancel
}

func stoppedAfterFunc() {
	stops := make([]func() bool, 0, 10)
	for range 10 {
		stops = append(stops, context.AfterFunc(server, app.NewSession().Expire))
	}
	for _, stop := range stops {
		stop()
	}
}
