package queue

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/stretchr/testify/suite"

	"github.com/leakgate/leakgate/leakcheck"
)

type QueueSuite struct {
	suite.Suite
	queue *Queue
}

func TestQueue(t *testing.T) { suite.Run(t, new(QueueSuite)) }

func (s *QueueSuite) SetupTest() { s.queue = new(Queue) }

// s.T() is the test that an assertion is about.
func (s *QueueSuite) TestPopDropsTheJob() {
	leakcheck.ExpectCollected(s.T(), s.queue.Push(make([]byte, 100)), "popped")
	s.Require().NotNil(s.queue.Pop())
	s.Equal(1, s.queue.done)
}

func (s *QueueSuite) TestQueueDoesNotGrow() {
	leakcheck.AssertNoGrowth(s.T(), func() {
		s.queue.Push(make([]byte, 100))
		s.queue.Pop()
	})
}

// An assertion returns whether it holds, so that it can be required.
func (s *QueueSuite) TestNothingWaits() {
	for range 10 {
		s.queue.Push(make([]byte, 100))
		s.queue.Pop()
	}
	s.Require().True(leakcheck.AssertRetained(s.T(), leakcheck.Type[*Job]().None()))
}

func TestWithRequire(t *testing.T) {
	q := new(Queue)
	q.Push(nil)
	require.NotNil(t, q.Pop())
	require.True(t, leakcheck.AssertRetained(t, leakcheck.Type[*Job]().None()))
}
