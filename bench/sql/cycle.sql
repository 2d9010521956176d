-- The limit of claiming: the product's own claim and acknowledgement, two transactions.
SELECT coalesce(json_agg(json_build_object('id', c.id, 'worker_id', 'pgbench-' || :client_id,
                                           'has_result', false)), '[]') AS acks
  FROM ({claim}) AS c \gset
{complete};
