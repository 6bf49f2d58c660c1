module github.com/leakgate/leakgate

go 1.24
