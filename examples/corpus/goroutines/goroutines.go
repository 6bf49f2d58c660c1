// Package goroutines leaks goroutines, in each way in which a goroutine can block.
package goroutines

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/corpus/app"
	"example.com/corpus/internal/judge"
)

// Group is the cases of the package.
var Group = judge.Group{Name: "goroutines", Cases: []judge.Case{
	{Name: "Receive", Leak: judge.Op(awaitNobody), Fixed: judge.Op(awaitClosed), Grows: judge.Goroutines, Culprit: `goroutines\.await`},
	{Name: "SendCaptured", Leak: judge.Op(fetchTimedOut), Fixed: judge.Op(fetchBuffered), Grows: judge.Goroutines, Culprit: `goroutines\.fetchTimedOut`},
	{Name: "SendField", Leak: judge.Op(jobTimedOut), Fixed: judge.Op(jobBuffered), Grows: judge.Goroutines, Culprit: `goroutines\.\(\*job\)\.run`},
	{Name: "Select", Leak: judge.Op(loopWithoutQuit), Fixed: judge.Op(loopWithQuit), Grows: judge.Goroutines, Culprit: `goroutines\.loop`},
	{Name: "EmptySelect", Leak: judge.Op(parkForever), Fixed: judge.Op(parkNot), Grows: judge.Goroutines, Culprit: `goroutines\.park`},
	{Name: "Mutex", Leak: locked(false), Fixed: locked(true), Grows: judge.Goroutines, Culprit: `goroutines\.\(\*account\)\.deposit`},
	{Name: "ReadLock", Leak: readLocked(false), Fixed: readLocked(true), Grows: judge.Goroutines, Culprit: `goroutines\.\(\*index\)\.lookup`},
	{Name: "Cond", Leak: conditions(false), Fixed: conditions(true), Grows: judge.Goroutines, Culprit: `goroutines\.\(\*queue\)\.pop`},
	{Name: "WaitGroup", Leak: judge.Op(waitForMore), Fixed: judge.Op(waitForAll), Grows: judge.Goroutines, Culprit: `goroutines\.waitFor`},
	{Name: "WaitGroupGo", Leak: judge.Op(abandonGroup), Fixed: judge.Op(joinGroup), Grows: judge.Goroutines, Culprit: `goroutines\.abandonGroup`},
	{Name: "Sleep", Leak: judge.Op(retryTomorrow), Fixed: judge.Op(retryNow), Grows: judge.Goroutines, Culprit: `goroutines\.retry`},
	{Name: "PipeRead", Leak: judge.Op(readOpenPipe), Fixed: judge.Op(readClosedPipe), Grows: judge.Goroutines, Culprit: `goroutines\.drain`},
	{Name: "PipeWrite", Leak: judge.Op(writeUnread), Fixed: judge.Op(writeClosed), Grows: judge.Goroutines, Culprit: `goroutines\.fill`},
	{Name: "ConnRead", Leak: connections(false), Fixed: connections(true), Grows: judge.Goroutines, Calls: 5, Culprit: `goroutines\.handle`},
	{Name: "Accept", Leak: listeners(false), Fixed: listeners(true), Grows: judge.Goroutines, Calls: 5, Culprit: `goroutines\.acceptLoop`},
	{Name: "OSPipe", Leak: judge.Op(tailOpen, closeTails), Fixed: judge.Op(tailClosed), Grows: judge.Goroutines, Calls: 5, Culprit: `goroutines\.tail`},
	{Name: "Syscall", Leak: judge.Op(readBlocking, closeDevices), Fixed: judge.Op(readBlockingClosed), Grows: judge.Goroutines, Calls: 2, Culprit: `goroutines\.readDevice`},
	{Name: "NilReceive", Leak: judge.Op(receiveNil), Fixed: judge.Op(receiveMade), Grows: judge.Goroutines, Culprit: `goroutines\.subscribe`},
	{Name: "NilSend", Leak: judge.Op(sendNil), Fixed: judge.Op(sendMade), Grows: judge.Goroutines, Culprit: `goroutines\.publish`},
	{Name: "Range", Leak: judge.Op(workersLeft), Fixed: judge.Op(workersDone), Grows: judge.Goroutines.PerCall(3), Culprit: `goroutines\.worker`},
	{Name: "Generator", Leak: judge.Op(firstOnly), Fixed: judge.Op(firstThenStop), Grows: judge.Goroutines, Culprit: `goroutines\.generate`},
	{Name: "FirstWins", Leak: judge.Op(raceUnbuffered), Fixed: judge.Op(raceBuffered), Grows: judge.Goroutines.PerCall(2), Culprit: `goroutines\.replica`},
	{Name: "ErrorReturn", Leak: judge.Op(earlyReturn), Fixed: judge.Op(lateReturn), Grows: judge.Goroutines, Culprit: `goroutines\.earlyReturn`},
	{Name: "Deadlock", Leak: judge.Op(eachOther(false)), Fixed: judge.Op(eachOther(true)), Grows: judge.Goroutines.PerCall(2), Culprit: `goroutines\.exchange`},
	{Name: "Semaphore", Leak: semaphores(false), Fixed: semaphores(true), Grows: judge.Goroutines, Culprit: `goroutines\.limited`},
	{Name: "Once", Leak: judge.Op(onceBlocked), Fixed: judge.Op(onceDone), Grows: judge.Goroutines.PerCall(2), Culprit: `goroutines\.configure`},
	{Name: "ServiceStarted", Leak: judge.Op(startOnly), Fixed: judge.Op(startAndClose), Grows: judge.Goroutines, Culprit: `goroutines\.\(\*service\)\.run`},
	{Name: "Spinning", Leak: spinners(false), Fixed: spinners(true), Grows: judge.Goroutines, Calls: 2, Culprit: `goroutines\.spin`},

	{Name: "Stragglers", Healthy: judge.Op(straggler), Grows: judge.Goroutines},
	{Name: "FanOut", Healthy: judge.Op(fanOut), Grows: judge.Goroutines},
	{Name: "Pipeline", Healthy: judge.Op(pipeline), Grows: judge.Goroutines},
	{Name: "FixedPool", Healthy: fixedPool, Grows: judge.Goroutines},
	{Name: "WorkersAtOnce", Healthy: workersAtOnce, Grows: judge.Goroutines},
	{Name: "TimedOutBuffered", Healthy: judge.Op(timedOutBuffered), Grows: judge.Goroutines},
	{Name: "NestedGroups", Healthy: judge.Op(nestedGroups), Grows: judge.Goroutines},
}}

var errNothing = errors.New("nothing")

func await(s *app.Session, done chan struct{}) {
	<-done
	s.Notify()
}

func awaitNobody() { go await(app.NewSession(), make(chan struct{})) }

func awaitClosed() {
	done := make(chan struct{})
	go await(app.NewSession(), done)
	close(done)
}

// fetchTimedOut gives up, and nobody receives the result.
func fetchTimedOut() {
	results := make(chan *app.Session)
	s := app.NewSession()
	go func() { results <- s }()
	_ = giveUp(results)
}

func fetchBuffered() {
	results := make(chan *app.Session, 1)
	s := app.NewSession()
	go func() { results <- s }()
	_ = giveUp(results)
}

func giveUp(results chan *app.Session) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-never(results):
		return nil
	}
}

// never returns a channel that delivers nothing, as if results took too long.
func never(chan *app.Session) chan *app.Session { return nil }

type job struct {
	result  chan *app.Session
	session *app.Session
}

func (j *job) run() { j.result <- j.session }

func jobTimedOut() {
	j := &job{make(chan *app.Session), app.NewSession()}
	go j.run()
}

func jobBuffered() {
	j := &job{make(chan *app.Session, 1), app.NewSession()}
	go j.run()
}

func loop(s *app.Session, events chan string, quit chan struct{}) {
	for {
		select {
		case <-events:
			s.Notify()
		case <-quit:
			return
		}
	}
}

func loopWithoutQuit() { go loop(app.NewSession(), make(chan string), make(chan struct{})) }

func loopWithQuit() {
	quit := make(chan struct{})
	go loop(app.NewSession(), make(chan string), quit)
	close(quit)
}

func park(s *app.Session, forever bool) {
	s.Notify()
	if forever {
		select {}
	}
}

func parkForever() { go park(app.NewSession(), true) }

func parkNot() { go park(app.NewSession(), false) }

type account struct {
	mu      sync.Mutex
	balance int
}

func (a *account) deposit(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.balance += n
}

func (a *account) check(fixed bool) error {
	a.mu.Lock()
	if !fixed {
		return errNothing // without Unlock
	}
	a.mu.Unlock()
	return nil
}

func locked(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		a := &account{}
		_ = a.check(fixed)
		if !fixed {
			t.Cleanup(a.mu.Unlock)
		}
		return func() { go a.deposit(1) }
	}
}

type index struct {
	mu    sync.RWMutex
	names map[string]int
}

func (i *index) lookup(name string) int {
	i.mu.RLock()
	defer i.mu.RUnlock()
	return i.names[name]
}

func readLocked(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		i := &index{}
		if i.mu.Lock(); fixed {
			i.mu.Unlock()
		} else {
			t.Cleanup(i.mu.Unlock)
		}
		return func() { go i.lookup("name") }
	}
}

type queue struct {
	mu    sync.Mutex
	cond  *sync.Cond
	items []*app.Session
}

func (q *queue) push(s *app.Session) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.items = append(q.items, s)
	q.cond.Signal()
}

func (q *queue) pop() *app.Session {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) == 0 {
		q.cond.Wait()
	}
	s := q.items[0]
	q.items = q.items[1:]
	return s
}

func conditions(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		q := &queue{}
		q.cond = sync.NewCond(&q.mu)
		calls := 0
		t.Cleanup(func() {
			for range calls {
				q.push(nil)
			}
		})
		return func() {
			go q.pop()
			if fixed {
				q.push(app.NewSession())
			} else {
				calls++
			}
		}
	}
}

func waitFor(wg *sync.WaitGroup, s *app.Session) {
	wg.Wait()
	s.Notify()
}

func waitForMore() {
	var wg sync.WaitGroup
	wg.Add(2)
	go wg.Done()
	go waitFor(&wg, app.NewSession())
}

func waitForAll() {
	var wg sync.WaitGroup
	wg.Add(1)
	go wg.Done()
	go waitFor(&wg, app.NewSession())
}

func abandonGroup() {
	var wg sync.WaitGroup
	s, done := app.NewSession(), make(chan struct{})
	wg.Go(func() {
		<-done
		s.Notify()
	})
}

func joinGroup() {
	var wg sync.WaitGroup
	s, done := app.NewSession(), make(chan struct{})
	wg.Go(func() {
		<-done
		s.Notify()
	})
	close(done)
	wg.Wait()
}

func retry(s *app.Session, after time.Duration) {
	time.Sleep(after)
	s.Notify()
}

func retryTomorrow() { go retry(app.NewSession(), 24*time.Hour) }

func retryNow() { go retry(app.NewSession(), time.Millisecond) }

func drain(r io.Reader) { _, _ = io.Copy(io.Discard, r) }

func readOpenPipe() {
	r, w := io.Pipe()
	go drain(r)
	_, _ = io.WriteString(w, "hello")
}

func readClosedPipe() {
	r, w := io.Pipe()
	go drain(r)
	_, _ = io.WriteString(w, "hello")
	w.Close()
}

func fill(w *io.PipeWriter) {
	_, err := io.WriteString(w, "a long text")
	w.CloseWithError(err)
}

func writeUnread() {
	r, w := io.Pipe()
	go fill(w)
	_, _ = r.Read(make([]byte, 1))
}

func writeClosed() {
	r, w := io.Pipe()
	go fill(w)
	_, _ = r.Read(make([]byte, 1))
	r.Close()
}

func handle(c net.Conn) {
	defer c.Close()
	_, _ = io.Copy(io.Discard, c)
}

// connections are opened by clients that do not close them.
func connections(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		var open []net.Conn
		t.Cleanup(func() {
			for _, c := range open {
				c.Close()
			}
		})
		return func() {
			client, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				panic(err)
			}
			server, err := l.Accept()
			if err != nil {
				panic(err)
			}
			go handle(server)
			if fixed {
				client.Close()
			} else {
				open = append(open, client)
			}
		}
	}
}

func acceptLoop(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go handle(c)
	}
}

func listeners(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		return func() {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				panic(err)
			}
			go acceptLoop(l)
			if fixed {
				l.Close()
			} else {
				t.Cleanup(func() { l.Close() })
			}
		}
	}
}

func tail(r *os.File) {
	defer r.Close()
	_, _ = io.Copy(io.Discard, r)
}

// tails are the write ends of pipes that are still open.
var tails []*os.File

func closeTails() {
	for _, w := range tails {
		w.Close()
	}
	tails = nil
}

func osPipe() (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	return r, w
}

func tailOpen() {
	r, w := osPipe()
	go tail(r)
	tails = append(tails, w)
}

func tailClosed() {
	r, w := osPipe()
	go tail(r)
	w.Close()
}

func readDevice(fd descriptor) {
	_, _ = syscall.Read(fd, make([]byte, 10))
	_ = syscall.Close(fd)
}

var devices []descriptor

func closeDevices() {
	for _, w := range devices {
		_ = syscall.Close(w)
	}
	devices = nil
}

func device() (r, w descriptor) {
	var fds [2]descriptor
	if err := syscall.Pipe(fds[:]); err != nil {
		panic(err)
	}
	return fds[0], fds[1]
}

func readBlocking() {
	r, w := device()
	go readDevice(r)
	devices = append(devices, w)
}

func readBlockingClosed() {
	r, w := device()
	go readDevice(r)
	_ = syscall.Close(w)
}

// A feed delivers once its channel is made.
type feed struct{ updates chan string }

func subscribe(f *feed) { <-f.updates }

func receiveNil() { go subscribe(&feed{}) }

func receiveMade() {
	f := &feed{updates: make(chan string, 1)}
	f.updates <- "update"
	go subscribe(f)
}

func publish(f *feed, text string) { f.updates <- text }

func sendNil() { go publish(&feed{}, app.NewSession().ID) }

func sendMade() { go publish(&feed{updates: make(chan string, 1)}, app.NewSession().ID) }

func worker(jobs chan *app.Session) {
	for s := range jobs {
		s.Notify()
	}
}

func pool() (jobs chan *app.Session) {
	jobs = make(chan *app.Session)
	for range 3 {
		go worker(jobs)
	}
	for range 5 {
		jobs <- app.NewSession()
	}
	return jobs
}

func workersLeft() { pool() }

func workersDone() { close(pool()) }

func generate(numbers chan<- int, stop <-chan struct{}) {
	for i := 0; ; i++ {
		select {
		case numbers <- i:
		case <-stop:
			return
		}
	}
}

func firstOnly() {
	numbers, stop := make(chan int), make(chan struct{})
	go generate(numbers, stop)
	<-numbers
}

func firstThenStop() {
	numbers, stop := make(chan int), make(chan struct{})
	defer close(stop)
	go generate(numbers, stop)
	<-numbers
}

func replica(answers chan<- *app.Session) { answers <- app.NewSession() }

func ask(answers chan *app.Session) {
	for range 3 {
		go replica(answers)
	}
	<-answers
}

func raceUnbuffered() { ask(make(chan *app.Session)) }

func raceBuffered() { ask(make(chan *app.Session, 3)) }

func validate() error { return errNothing }

func earlyReturn() {
	errs := make(chan error)
	go func() { errs <- validate() }()
	if err := validate(); err != nil {
		return
	}
	<-errs
}

func lateReturn() {
	errs := make(chan error)
	go func() { errs <- validate() }()
	if err := validate(); err != nil {
		<-errs
		return
	}
	<-errs
}

func exchange(in, out chan *app.Session, s *app.Session, receiveFirst bool) {
	if receiveFirst {
		<-in
		out <- s
		return
	}
	out <- s
	<-in
}

func eachOther(fixed bool) func() {
	return func() {
		a, b := make(chan *app.Session), make(chan *app.Session)
		go exchange(a, b, app.NewSession(), true)
		go exchange(b, a, app.NewSession(), !fixed)
	}
}

func limited(slots chan struct{}, s *app.Session, release bool) {
	slots <- struct{}{}
	s.Notify()
	if release {
		<-slots
	}
}

func semaphores(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		slots := make(chan struct{}, 2)
		t.Cleanup(func() {
			go func() { // releases the goroutines that wait
				for {
					select {
					case <-slots:
					case <-time.After(time.Second):
						return
					}
				}
			}()
		})
		return func() { go limited(slots, app.NewSession(), fixed) }
	}
}

type settings struct {
	once sync.Once
	text string
}

func configure(s *settings, ready chan struct{}) {
	s.once.Do(func() {
		<-ready
		s.text = app.NewSession().ID
	})
}

func onceBlocked() {
	s, ready := &settings{}, make(chan struct{})
	go configure(s, ready)
	go configure(s, ready)
}

func onceDone() {
	s, ready := &settings{}, make(chan struct{})
	go configure(s, ready)
	go configure(s, ready)
	close(ready)
}

// A service runs until it is closed.
type service struct {
	session *app.Session
	quit    chan struct{}
}

func newService() *service {
	s := &service{app.NewSession(), make(chan struct{})}
	go s.run()
	return s
}

func (s *service) run() {
	ticker := time.NewTicker(time.Hour)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			s.session.Notify()
		case <-s.quit:
			return
		}
	}
}

func (s *service) close() { close(s.quit) }

func startOnly() { newService() }

func startAndClose() { newService().close() }

func spin(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

func spinners(fixed bool) judge.Setup {
	return func(t *testing.T) func() {
		all := make(chan struct{})
		t.Cleanup(func() { close(all) })
		return func() {
			stop := all
			if fixed {
				stop = make(chan struct{})
				defer close(stop)
			}
			go spin(stop)
		}
	}
}

// A goroutine that ends a little after the operation has returned.
func straggler() { go retry(app.NewSession(), 30*time.Millisecond) }

func fanOut() {
	var wg sync.WaitGroup
	for range 30 {
		wg.Go(app.NewSession().Notify)
	}
	wg.Wait()
}

func pipeline() {
	numbers, stop := make(chan int), make(chan struct{})
	squares := make(chan int)
	go generate(numbers, stop)
	go func() {
		defer close(squares)
		for range 10 {
			n := <-numbers
			squares <- n * n
		}
		close(stop)
	}()
	for range squares {
	}
}

// A pool of workers that keeps its size.
func fixedPool(t *testing.T) func() {
	jobs := make(chan *app.Session)
	for range 8 {
		go worker(jobs)
	}
	t.Cleanup(func() { close(jobs) })
	return func() { jobs <- app.NewSession() }
}

func timedOutBuffered() { fetchBuffered() }

func nestedGroups() {
	var outer sync.WaitGroup
	for range 4 {
		outer.Go(func() {
			var inner sync.WaitGroup
			for range 4 {
				inner.Go(app.NewSession().Notify)
			}
			inner.Wait()
		})
	}
	outer.Wait()
}

// A pool with as many workers as there ever were tasks at the same time.
func workersAtOnce(t *testing.T) func() {
	var (
		mu   sync.Mutex
		idle []chan func()
		all  []chan func()
	)
	t.Cleanup(func() {
		for _, tasks := range all {
			close(tasks)
		}
	})
	work := func(tasks chan func()) {
		for task := range tasks {
			task()
			mu.Lock()
			idle = append(idle, tasks)
			mu.Unlock()
		}
	}
	return func() {
		mu.Lock()
		defer mu.Unlock()
		var tasks chan func()
		if n := len(idle); n > 0 {
			tasks, idle = idle[n-1], idle[:n-1]
		} else {
			tasks = make(chan func(), 1)
			all = append(all, tasks)
			go work(tasks)
		}
		tasks <- func() { time.Sleep(20 * time.Millisecond) }
	}
}
