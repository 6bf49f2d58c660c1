module example.com/store

go 1.26.0

require (
	github.com/leakgate/leakgate v0.0.0
	github.com/mattn/go-sqlite3 v1.14.53
)

replace github.com/leakgate/leakgate => ../..
