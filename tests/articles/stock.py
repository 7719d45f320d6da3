# SPDX-License-Identifier: MIT
"""What goes wrong with a stock that is guarded by a version, as the articles
have it, on a real server; and what a lock and its fence do there. The contrast
to these are the versioned updates of tests/rows."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / 'cli'))
import harness  # noqa: E402
import sql  # noqa: E402
from harness import case  # noqa: E402

DUPLICATE = 1062


def fence_of_a_run(t):
    return int(t.run('run', 'stock:1', '--', 'sh', '-c',
                     'echo $HOLDFAST_FENCE', code=0).out)


@case
def an_index_over_the_stock_meets_another_products_number(t):
    """What is to be unique is the product, not how much there is of it."""
    first, _ = sql.fresh(t)
    first.run('CREATE TABLE product (id BIGINT PRIMARY KEY,'
              ' resource INT NOT NULL, version INT NOT NULL DEFAULT 1,'
              ' UNIQUE (resource)) ENGINE=InnoDB',
              'INSERT INTO product (id, resource) VALUES (1, 20), (2, 19)')
    sale = ('UPDATE product SET resource = resource - 1,'
            ' version = version + 1 WHERE id = 1 AND version = 1')
    t.equal(first.error(sale), DUPLICATE, 'the sale of one')
    first.run('ALTER TABLE product DROP INDEX resource')
    t.equal(first.changed(sale), 1, 'without the index')


@case
def a_stamp_of_whole_seconds_lets_a_stale_writer_through(t):
    """Two who read the same row write it in the same second: the second one
    finds the stamp as it was."""
    first, session = sql.fresh(t)
    second = session()
    first.run('CREATE TABLE product (id BIGINT PRIMARY KEY,'
              ' stock INT NOT NULL, updated_at DATETIME NOT NULL,'
              ' version INT NOT NULL DEFAULT 1,'
              ' fence BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB',
              'SET timestamp = 1700000000.1',
              'INSERT INTO product (id, stock, updated_at)'
              ' VALUES (1, 10, NOW())')
    read = 'SELECT stock, updated_at FROM product WHERE id = 1'
    (stock, stamp), seen = first.ask(read)[0], second.ask(read)[0]
    t.equal([stock, stamp], seen, 'what both read')

    def sell(session, how_many, guard):
        return session.changed(
            f'UPDATE product SET stock = {int(stock) - how_many},'
            ' updated_at = NOW(), version = version + 1'
            f' WHERE id = 1 AND {guard}')
    second.run('SET timestamp = 1700000000.5')
    t.equal(sell(second, 3, f"updated_at = '{stamp}'"), 1, 'who is quick')
    first.run('SET timestamp = 1700000000.9')
    t.equal(sell(first, 1, 'version = 1'), 0, 'who is late, by the version')
    t.equal(sell(first, 1, f"updated_at = '{stamp}'"), 1, 'by the stamp')
    t.equal(first.one('SELECT stock FROM product'), '9', 'left of 10, of '
            'which 4 were sold')

    # The fence of a lock is such a version, however soon one follows another.
    fences = [fence_of_a_run(t) for _ in range(5)]
    t.rising(fences)
    for session, fence, changed in ((second, fences[1], 1),
                                    (first, fences[0], 0)):
        t.equal(session.changed(f'UPDATE product SET fence = {fence}'
                                f' WHERE id = 1 AND fence < {fence}'),
                changed, f'who has fence {fence}')


if __name__ == '__main__':
    harness.main()
