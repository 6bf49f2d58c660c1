package shop

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
)

// fake is a driver whose connections have 300 cached rows each.
type fake struct{}

type fakeConn struct{ cached [][]byte }

type fakeStmt struct{ plan []byte }

func (fake) Open(string) (driver.Conn, error) {
	c := &fakeConn{}
	for range 300 {
		c.cached = append(c.cached, make([]byte, 64))
	}
	return c, nil
}

func (*fakeConn) Prepare(string) (driver.Stmt, error) { return &fakeStmt{make([]byte, 256)}, nil }
func (*fakeConn) Close() error                        { return nil }
func (*fakeConn) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }

func (*fakeStmt) Close() error                               { return nil }
func (*fakeStmt) NumInput() int                              { return 0 }
func (*fakeStmt) Exec([]driver.Value) (driver.Result, error) { return driver.ResultNoRows, nil }
func (*fakeStmt) Query([]driver.Value) (driver.Rows, error)  { return nil, errors.ErrUnsupported }

func init() { sql.Register("holds", fake{}) }

// OpenDB opens a database with one connection.
func OpenDB() *sql.DB {
	db, err := sql.Open("holds", "")
	if err == nil {
		err = db.PingContext(context.Background())
	}
	if err != nil {
		panic(err)
	}
	return db
}

// A Repo is a user of a database.
type Repo struct {
	Name string
	DB   *sql.DB
}

var (
	DB    *sql.DB
	Repos map[string]*Repo
	Stmts map[string]*sql.Stmt
)

func resetDatabases() {
	if DB != nil {
		DB.Close()
	}
	DB, Repos, Stmts = nil, map[string]*Repo{}, map[string]*sql.Stmt{}
}
