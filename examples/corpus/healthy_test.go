package corpus

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"text/template"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/singleflight"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/leakgate/leakgate/leakcheck"
)

// A cache at its capacity.
func TestHealthyLRU(t *testing.T) {
	cache, err := lru.New[string, *Session](100)
	if err != nil {
		t.Fatal(err)
	}
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		cache.Add(s.ID, s)
	})
}

func TestHealthyPool(t *testing.T) {
	pool := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	leakcheck.AssertNoGrowth(t, func() {
		b := pool.Get().(*bytes.Buffer)
		b.Reset()
		b.Write(make([]byte, 10_000))
		pool.Put(b)
	})
}

func TestHealthyHTTP(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.URL)
	}))
	defer srv.Close()
	client := srv.Client()
	leakcheck.AssertNoGrowth(t, func() {
		resp, err := client.Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
	})
}

// A new connection each time.
func TestHealthyHTTPWithoutKeepAlive(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	defer srv.Close()
	leakcheck.AssertNoGrowth(t, func() {
		transport := &http.Transport{DisableKeepAlives: true}
		resp, err := (&http.Client{Transport: transport}).Get(srv.URL)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
	})
}

func TestHealthySQL(t *testing.T) {
	db := sql.OpenDB(countingDriver{})
	defer db.Close()
	db.SetMaxOpenConns(4)
	leakcheck.AssertNoGrowth(t, func() {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				var n int
				if err := db.QueryRow("SELECT 1").Scan(&n); err != nil || n != 1 {
					t.Error(n, err)
				}
			})
		}
		wg.Wait()
	})
}

func TestHealthySlog(t *testing.T) {
	logger := slog.New(slog.NewJSONHandler(io.Discard, nil))
	n := 0
	leakcheck.AssertNoGrowth(t, func() {
		n++
		logger.With("n", n).WithGroup("g").Info("message", "session", newSession().ID, "n", n)
	})
}

func TestHealthyRegexp(t *testing.T) {
	re := regexp.MustCompile(`(\w+)-(\d+)`)
	leakcheck.AssertNoGrowth(t, func() {
		if !re.MatchString(newSession().ID) || !regexp.MustCompile("^sess").MatchString("session") {
			t.Error("no match")
		}
	})
}

func TestHealthyJSON(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		text, err := json.Marshal(map[string]any{"session": newSession(), "at": time.Now()})
		var back map[string]any
		if err != nil || json.Unmarshal(text, &back) != nil {
			t.Error(err)
		}
	})
}

func TestHealthyTicker(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		ticker := time.NewTicker(time.Microsecond)
		<-ticker.C
		ticker.Stop()
		timer := time.AfterFunc(time.Hour, newSession().notify)
		timer.Stop()
		ctx, cancel := context.WithTimeout(running, time.Hour)
		_ = ctx
		cancel()
	})
}

func TestHealthyWorkers(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		jobs := make(chan *Session, 4)
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for s := range jobs {
					s.notify()
				}
			})
		}
		for range 16 {
			jobs <- newSession()
		}
		close(jobs)
		wg.Wait()
	})
}

// Goroutines that end a little after the operation has returned.
func TestHealthyStragglers(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		s := newSession()
		go func() {
			time.Sleep(30 * time.Millisecond)
			s.notify()
		}()
	})
}

func TestHealthySingleflight(t *testing.T) {
	var group singleflight.Group
	leakcheck.AssertNoGrowth(t, func() {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				_, err, _ := group.Do("key", func() (any, error) { return newSession(), nil })
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// The last 64 sessions, in a ring.
func TestHealthyRing(t *testing.T) {
	var ring [64]*Session
	n := 0
	leakcheck.AssertNoGrowth(t, func() {
		ring[n%len(ring)] = newSession()
		n++
	})
}

func TestHealthyTemplate(t *testing.T) {
	tmpl := template.Must(template.New("page").Parse(`{{range .}}{{.ID}}, {{end}}`))
	leakcheck.AssertNoGrowth(t, func() {
		var b strings.Builder
		if err := tmpl.Execute(&b, []*Session{newSession(), newSession()}); err != nil {
			t.Error(err)
		}
		clone, err := tmpl.Clone()
		if err != nil {
			t.Error(err)
		}
		template.Must(clone.New("more").Parse("{{.}}"))
	})
}

// Types that package reflect makes once, and then looks up.
func TestHealthyReflect(t *testing.T) {
	leakcheck.AssertNoGrowth(t, func() {
		m := reflect.MakeMap(reflect.MapOf(reflect.TypeFor[string](), reflect.TypeFor[*Session]()))
		m.SetMapIndex(reflect.ValueOf("a"), reflect.ValueOf(newSession()))
		reflect.New(reflect.ArrayOf(7, reflect.TypeFor[Session]()))
		reflect.FuncOf([]reflect.Type{reflect.TypeFor[int]()}, nil, false)
	})
}

func TestHealthyGRPC(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(srv, health.NewServer())
	go srv.Serve(l)
	defer srv.Stop()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	client := grpc_health_v1.NewHealthClient(conn)
	leakcheck.AssertNoGrowth(t, func() {
		if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	})
}

// A connection for each operation, which is closed again.
func TestHealthyGRPCConnections(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer()
	grpc_health_v1.RegisterHealthServer(srv, health.NewServer())
	go srv.Serve(l)
	defer srv.Stop()
	leakcheck.AssertNoGrowth(t, func() {
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestHealthyPrometheus(t *testing.T) {
	registry := prometheus.NewRegistry()
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "requests"}, []string{"code"})
	duration := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "duration"})
	registry.MustRegister(requests, duration)
	leakcheck.AssertNoGrowth(t, func() {
		for _, code := range []string{"200", "404", "500"} {
			requests.WithLabelValues(code).Inc()
		}
		duration.Observe(0.1)
		if _, err := registry.Gather(); err != nil {
			t.Error(err)
		}
	})
}

// A table that fills up while it is measured.
func TestHealthyTable(t *testing.T) {
	seen := map[int]*Session{}
	n := 0
	leakcheck.AssertNoGrowth(t, func() {
		n++
		seen[n%200] = newSession()
	})
}

// countingDriver is a database that answers 1.
type countingDriver struct{}

func (countingDriver) Connect(context.Context) (driver.Conn, error) { return &countingConn{}, nil }
func (countingDriver) Driver() driver.Driver                        { return nil }

type countingConn struct{ buf [1000]byte }

func (c *countingConn) Prepare(string) (driver.Stmt, error) { return &countingStmt{c}, nil }
func (c *countingConn) Close() error                        { return nil }
func (c *countingConn) Begin() (driver.Tx, error)           { return nil, driver.ErrSkip }

type countingStmt struct{ conn *countingConn }

func (s *countingStmt) Close() error                               { return nil }
func (s *countingStmt) NumInput() int                              { return 0 }
func (s *countingStmt) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }
func (s *countingStmt) Query([]driver.Value) (driver.Rows, error)  { return &countingRows{stmt: s}, nil }

type countingRows struct {
	stmt *countingStmt
	done bool
}

func (r *countingRows) Columns() []string { return []string{"n"} }
func (r *countingRows) Close() error      { return nil }

func (r *countingRows) Next(dest []driver.Value) error {
	if r.done {
		return io.EOF
	}
	r.done = true
	dest[0] = int64(1)
	return nil
}
