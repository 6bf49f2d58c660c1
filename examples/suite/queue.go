// Package queue is tested with testify's suites and assertions.
package queue

// A Job is work that waits.
type Job struct{ payload []byte }

// A Queue holds jobs until they are done.
type Queue struct {
	waiting []*Job
	done    int
}

// Push adds a job.
func (q *Queue) Push(payload []byte) *Job {
	j := &Job{payload}
	q.waiting = append(q.waiting, j)
	return j
}

// Pop removes the oldest job, nil if there is none.
func (q *Queue) Pop() *Job {
	if len(q.waiting) == 0 {
		return nil
	}
	j := q.waiting[0]
	q.waiting[0] = nil // the array lives on
	q.waiting = q.waiting[1:]
	q.done++
	return j
}
